"""Runs commands of awb for every shard of a benchmark as tasks of a Ray cluster, starts those anew that die, and merges.

    python shards.py --shards 8 --out /shared/step-2000 \
      -- infer --shard '{k}/{n}' --output-dir '{dir}' --data-dir /shared/data \
         --model-base-url http://10.0.0.5:8000/v1 --model-name step-2000 \
      -- judge --predictions '{dir}/predictions.jsonl' --output-dir '{dir}' \
         --judge-base-url https://api.openai.com/v1 --judge-model gpt-5.2

Each `--` begins a command. A task runs all of them for its shard, one after the other, with {k}, {n} and {dir} filled in. The
same again continues: what is finished is not asked again.
"""

import argparse
import ctypes
import os
import signal
import subprocess
import sys

import ray

# What another try mends: the endpoint has gone for longer than awb waits, or a signal (out of memory, preemption) ended awb.
UNAVAILABLE, TERMINATED = 69, 143
# Done, or done but for rows that failed for good: the merged run counts them as missing.
DONE, INCOMPLETE = 0, 3


class Again(Exception):
    """The task has not ended, and the same commands go on where it stopped."""


class Failed(Exception):
    """Flags, data, key or budget are wrong: the same again would end the same."""


def die_with_worker():
    # Ray leaves the children of a killed worker alone. An awb that lived on would keep the shard's folder locked, and the task
    # that Ray starts in its place would be refused (73). KILL, since everything finished is in the journal.
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_shard(awb, commands, k, n, out):
    directory = os.path.join(out, "shards", str(k))
    for words in commands:
        filled = [word.replace("{k}", str(k)).replace("{n}", str(n)).replace("{dir}", directory) for word in words]
        code = subprocess.run([awb, *filled], stdin=subprocess.DEVNULL, preexec_fn=die_with_worker).returncode
        if code < 0 or code in (UNAVAILABLE, TERMINATED):
            raise Again(f"shard {k}: awb {words[0]} ended with {code}")
        if code not in (DONE, INCOMPLETE):
            raise Failed(f"shard {k}: awb {words[0]} ended with {code}; see docs/exit-codes.md")
    return k


def commands_in(words):
    commands = []
    for word in words:
        if word == "--":
            commands.append([])
        elif not commands:
            sys.exit(f"shards.py: {word} stands before the first --")
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def main():
    own, split = sys.argv[1:], len(sys.argv) - 1
    if "--" in own:
        split = own.index("--")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--out", required=True, help="a folder that every node sees")
    parser.add_argument("--awb", default="awb")
    parser.add_argument("--retries", type=int, default=5, help="of a task, whether its worker, node or endpoint has gone")
    parser.add_argument("--cpus", type=float, default=1, help="of a task")
    parser.add_argument("--gpus", type=float, default=0, help="of a task, where its commands serve the model (--local)")
    options = parser.parse_args(own[:split])
    commands, out = commands_in(own[split:]), os.path.abspath(options.out)
    if not commands:
        parser.error("name a command of awb behind --")

    ray.init(log_to_driver=True)
    task = ray.remote(
        num_cpus=options.cpus,
        num_gpus=options.gpus,
        max_retries=options.retries,
        retry_exceptions=[Again],
    )(run_shard)
    n = options.shards
    waiting = {task.remote(options.awb, commands, k, n, out): k for k in range(1, n + 1)}
    failed = []
    while waiting:
        [ready], _ = ray.wait(list(waiting), num_returns=1)
        k = waiting.pop(ready)
        try:
            ray.get(ready)
            print(f"shard {k} of {n} done, {len(waiting)} to go", flush=True)
        except Exception as error:  # Of whatever kind: the other shards go on.
            failed.append(k)
            print(f"shard {k} of {n} failed: {error}", file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"shards {failed} failed; mend that and run the same command again")
    shards = [os.path.join(out, "shards", str(k)) for k in range(1, n + 1)]
    sys.exit(subprocess.run([options.awb, "merge", *shards, "--output-dir", os.path.join(out, "merged")]).returncode)


if __name__ == "__main__":
    main()
