#!/usr/bin/env bash
# Submits a checkpoint: infer as an array of $SHARDS tasks, then merge, judge, and gate as a job each. Prints the jobs' numbers.
#
#   LABEL=step-2000 MODEL=/checkpoints/step-2000 examples/slurm/submit.sh
#
# The same command again continues: shards that are finished end within seconds and ask nothing.
set -euo pipefail
cd "$(dirname "$0")"
. ./settings.sh
mkdir -p "$OUT/log"

submit() {
  local name=$1
  shift
  # A job whose predecessor has failed for good is cancelled, instead of waiting for ever.
  sbatch --parsable --kill-on-invalid-dep=yes --output="$OUT/log/$name.log" "$@"
}

# The lists of flags are words.
# shellcheck disable=SC2086
{
  infer=$(submit infer-%a $INFER_SBATCH --array=0-$((SHARDS - 1)) infer.sbatch)
  merge=$(submit merge $MERGE_SBATCH --dependency=afterok:$infer merge.sbatch)
  judge=$(submit judge $JUDGE_SBATCH --dependency=afterok:$merge judge.sbatch)
  # All of a user's jobs of this name take turns, since they write to the same SQLite file.
  gate=$(submit gate $MERGE_SBATCH --dependency=afterok:$judge,singleton gate.sbatch)
}
echo "infer=$infer merge=$merge judge=$judge gate=$gate"
