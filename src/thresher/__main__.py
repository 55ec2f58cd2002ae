"""`python -m thresher` is `thresher`."""

from thresher.cli import main

main()
