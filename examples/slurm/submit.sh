#!/usr/bin/env bash
# Submits a checkpoint: infer as an array of $SHARDS tasks, then merge, judge and gate as one job each. Prints the job numbers.
#
#   LABEL=step-2000 MODEL=/checkpoints/step-2000 examples/slurm/submit.sh
#
# The same command continues an interrupted run: finished shards end within seconds and ask nothing.
set -euo pipefail
cd "$(dirname "$0")"
. ./settings.sh
mkdir -p "$OUT/log"

submit() {
  local name=$1
  shift
  # Slurm cancels a job whose dependency has failed, instead of leaving it waiting forever.
  sbatch --parsable --kill-on-invalid-dep=yes --output="$OUT/log/$name.log" "$@"
}

# Unquoted, so that lists of flags are split into words.
# shellcheck disable=SC2086
{
  infer=$(submit infer-%a $INFER_SBATCH --array=0-$((SHARDS - 1)) infer.sbatch)
  merge=$(submit merge $MERGE_SBATCH --dependency=afterok:$infer merge.sbatch)
  judge=$(submit judge $JUDGE_SBATCH --dependency=afterok:$merge judge.sbatch)
  # singleton: a user's jobs of this name run one at a time, since they write to the same SQLite file.
  gate=$(submit gate $MERGE_SBATCH --dependency=afterok:$judge,singleton gate.sbatch)
}
echo "infer=$infer merge=$merge judge=$judge gate=$gate"
