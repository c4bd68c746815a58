"""Runs awb for every shard of a benchmark as tasks of a Ray cluster, restarts those that die, merges, and judges once.

    python shards.py --shards 8 --out /shared/step-2000 \
      -- infer --shard '{k}/{n}' --output-dir '{dir}' --data-dir /shared/data \
         --model-base-url http://10.0.0.5:8000/v1 --model-name step-2000 \
      -- judge '{merged}' --judge-base-url https://api.openai.com/v1 --judge-model gpt-5.2

Each `--` starts a command. A task runs them for its shard, one after the other, with {k}, {n} and {dir} filled in. Commands that
contain {merged} run once, after the merge: rate limits and budgets belong to one run. The same command line continues an
interrupted run: finished rows are not asked again.
"""

import argparse
import ctypes
import os
import signal
import subprocess
import sys

import ray

# A retry can help: the endpoint was down for longer than awb waits, or a signal (out of memory, preemption) ended awb.
UNAVAILABLE, TERMINATED = 69, 143
# Done, or done except for rows that failed permanently: the merged run counts them as missing.
DONE, INCOMPLETE = 0, 3


class Again(Exception):
    """The task is not finished; the same commands continue it."""


class Failed(Exception):
    """Flags, data, key or budget are wrong, so a retry would fail too."""


def die_with_worker():
    # Ray does not kill the children of a killed worker. A surviving awb would keep the shard's folder locked, and the task that
    # Ray starts as a replacement would be refused (73). KILL is safe: everything finished is in the journal.
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_commands(name, awb, commands, places):
    """Runs commands of awb one after the other, with placeholders such as {k} filled in. Returns the last exit code."""
    code = DONE
    for words in commands:
        code = subprocess.run(
            [awb, *(filled(word, places) for word in words)], stdin=subprocess.DEVNULL, preexec_fn=die_with_worker
        ).returncode
        if code < 0 or code in (UNAVAILABLE, TERMINATED):
            raise Again(f"{name}: awb {words[0]} ended with {code}")
        if code not in (DONE, INCOMPLETE):
            raise Failed(f"{name}: awb {words[0]} ended with {code}; see docs/exit-codes.md")
    return code


def filled(word, places):
    for place, value in places.items():
        word = word.replace(place, value)
    return word


def commands_in(words):
    commands = []
    for word in words:
        if word == "--":
            commands.append([])
        elif not commands:
            sys.exit(f"shards.py: {word} comes before the first --; put commands of awb after it")
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def main():
    own, split = sys.argv[1:], len(sys.argv) - 1
    if "--" in own:
        split = own.index("--")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--out", required=True, help="a folder shared by all nodes")
    parser.add_argument("--awb", default="awb")
    parser.add_argument("--retries", type=int, default=5, help="restarts of a task after its worker, node or endpoint fails")
    parser.add_argument("--cpus", type=float, default=1, help="CPUs of a task")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of a task, if its commands serve the model (--local)")
    options = parser.parse_args(own[:split])
    commands, out = commands_in(own[split:]), os.path.abspath(options.out)
    if not commands:
        parser.error("no command; put a command of awb after --")
    once = [words for words in commands if any("{merged}" in word for word in words)]
    of_shards = [words for words in commands if words not in once]

    ray.init(log_to_driver=True)
    task = ray.remote(
        num_cpus=options.cpus,
        num_gpus=options.gpus,
        max_retries=options.retries,
        retry_exceptions=[Again],
    )(run_commands)
    n, merged = options.shards, os.path.join(out, "merged")
    folders = {k: os.path.join(out, "shards", str(k)) for k in range(1, n + 1)}
    places = {k: {"{k}": str(k), "{n}": str(n), "{dir}": folders[k]} for k in folders}
    waiting = {task.remote(f"shard {k}", options.awb, of_shards, places[k]): k for k in folders}
    failed = []
    while waiting:
        [ready], _ = ray.wait(list(waiting), num_returns=1)
        k = waiting.pop(ready)
        try:
            ray.get(ready)
            print(f"shard {k} of {n} done, {len(waiting)} to go", flush=True)
        except Exception as error:  # Any kind: the other shards continue.
            failed.append(k)
            print(f"shard {k} of {n} failed: {error}", file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"shards {failed} failed; fix the cause and run the same command again")
    merge = ["merge", *folders.values(), "--output-dir", "{merged}"]
    try:
        sys.exit(ray.get(task.remote("merged", options.awb, [merge, *once], {"{merged}": merged})))
    except ray.exceptions.RayError as error:
        sys.exit(f"{error}\nfix the cause and run the same command again")


if __name__ == "__main__":
    main()
