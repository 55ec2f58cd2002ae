"""A run that is stopped resumes at the same row, to the same model.

$ python resume.py
stopped early: True
the same model: True
"""

import signal
import subprocess
import sys
import time
from pathlib import Path

from thresher import convert, datasets, load

# Stands for your file.
convert(datasets.make_x2(5_000, n_features=20_000, n_informative=100, n_noise=200), "train.svm")

command = [sys.executable, "-m", "thresher", "train", "train.svm", "-k", "200", "--passes", "10", "--no-shuffle"]
resuming = [*command, "--checkpoint", "run.ckpt", "--every", "2000", "--resume", "-o", "model.thresher"]

# Ctrl-C, a kill, a reboot: as soon as there is a checkpoint, stop the run.
run = subprocess.Popen(resuming, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not Path("run.ckpt").exists() and run.poll() is None:
    time.sleep(0.01)
run.send_signal(signal.SIGTERM)
print("stopped early:", run.wait() != 0)

subprocess.run(resuming, check=True, capture_output=True)  # the same command again
subprocess.run([*command, "-o", "whole.thresher"], check=True, capture_output=True)
print("the same model:", (load("model.thresher").selected_ == load("whole.thresher").selected_).all())
