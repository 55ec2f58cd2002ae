"""Trains on a file as `thresher train` does, without scikit-learn, and prints rows, CPU time and peak memory."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from thresher.model.model import Model
from thresher.training import train

if __name__ == "__main__":
    started = time.process_time()
    history = train(Model("sofs", n_features_to_select=3), sys.argv[1], shuffle=False)
    seconds = time.process_time() - started
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"rows": history.rows[-1], "cpu_seconds": round(seconds, 2), "peak_megabytes": round(peak)}))
