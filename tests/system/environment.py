"""Makes BUILD/env: the packages of the environment that runs this, and thresher with the extension of a build.

Paths of a .pth file are not searched for more .pth files, so the editable install of thresher is not seen there.
"""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    build = Path(sys.argv[1]).resolve()
    source = Path(__file__).parent.parent.parent / "src" / "thresher"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", build / "env"], check=True)
    site = next((build / "env").glob("lib/python*/site-packages"))
    (site / "packages.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    shutil.copytree(source, site / "thresher", copy_function=lambda of, to: Path(to).symlink_to(of))
    for extension in build.glob("_core*.so"):
        (site / "thresher" / extension.name).symlink_to(extension)
    script = build / "env" / "bin" / "thresher"
    script.write_text(f"#!{build}/env/bin/python\nimport sys\n\nfrom thresher.cli import main\n\nsys.exit(main())\n")
    script.chmod(0o755)


if __name__ == "__main__":
    main()
