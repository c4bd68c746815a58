"""AgentWorldBench from Python: what `awb score` and its kin write, as data frames."""

import io
import subprocess

from .__main__ import command

__all__ = ["load"]


def load(run, db=None):
    """Reads a judged run into a pandas data frame, a row for each judgement with its ratings, score, status and measures.

    run: a judged file, its folder, or the label or number of a run in `db`.
    db: a SQLite file of `awb score`; `awb.sqlite` in the working folder unless given.
    Raises ValueError with what awb says where the run cannot be read, ImportError without pandas.
    """
    import pandas

    words = ["export", "csv", str(run), *([] if db is None else ["--db", str(db)])]
    program, arguments, environment = command(words)
    done = subprocess.run([program, *arguments], env=environment, capture_output=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.decode(errors="replace").strip())
    return pandas.read_csv(io.BytesIO(done.stdout))
