"""python -m build_bench."""

from build_bench.cli import main

main()
