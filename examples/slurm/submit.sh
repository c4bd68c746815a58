#!/usr/bin/env bash
# Submits a checkpoint: infer and judge as arrays of $SHARDS tasks, then merge with score, then the gate. Prints the jobs' numbers.
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

array=--array=0-$((SHARDS - 1))
# The lists of flags are words.
# shellcheck disable=SC2086
{
  infer=$(submit infer-%a $INFER_SBATCH $array infer.sbatch)
  judge=$(submit judge-%a $JUDGE_SBATCH $array --dependency=aftercorr:$infer judge.sbatch)
  # All of a user's jobs of this name take turns, since they write to the same SQLite file.
  merge=$(submit merge $MERGE_SBATCH --dependency=afterok:$judge,singleton merge.sbatch)
  gate=$(submit gate $MERGE_SBATCH --dependency=afterok:$merge gate.sbatch)
}
echo "infer=$infer judge=$judge merge=$merge gate=$gate"
