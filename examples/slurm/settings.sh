# What a team sets, in one place. A variable that the submitting shell has exported goes before what stands here.
# This file is read when a task starts, not when it is submitted: mend it, and a task that is requeued or released sees the change.

# Where all of this checkpoint comes to lie, on a file system that every node sees: shards/, merged/, log/.
: "${LABEL:=step-2000}"
: "${OUT:=$HOME/awb/$LABEL}"
: "${DATA_DIR:=$HOME/awb/data}"
# One SQLite file for all checkpoints. BASE is the run in it that a checkpoint must not fall behind.
: "${DB:=$HOME/awb/runs.sqlite}"
: "${BASE:=production}"
: "${POLICY:=$HOME/awb/gate.yaml}"

# A shard is an array task. Give a shard as much work as fits into a night rather than into an hour: each loads the model anew.
: "${SHARDS:=8}"

# The world model, served by each task on its own node, at $PORT. With SERVE='' all tasks ask the endpoint MODEL_BASE_URL instead.
: "${MODEL:=Qwen/Qwen-AgentWorld-35B-A3B}"
: "${SERVE=vllm serve $MODEL --host 127.0.0.1 --port \$PORT --max-model-len 262144 --reasoning-parser qwen3 --language-model-only}"
: "${MODEL_BASE_URL:=}"
# The judge, in the same way, but in one job. JUDGE_LIMITS are those of a hosted one, such as '--rpm 500 --budget-usd 50'.
: "${JUDGE_MODEL:=gpt-5.2-2025-12-11}"
: "${JUDGE_SERVE:=}"
: "${JUDGE_BASE_URL:=https://api.openai.com/v1}"
: "${JUDGE_LIMITS:=}"

# What sbatch is told beside what stands in the scripts. Tasks that serve a model need its GPUs, the others next to nothing.
: "${INFER_SBATCH=--gpus=1 --cpus-per-task=8 --mem=64G --time=08:00:00}"
: "${JUDGE_SBATCH=--cpus-per-task=2 --mem=4G --time=08:00:00}"
: "${MERGE_SBATCH=--cpus-per-task=2 --mem=4G --time=01:00:00}"

# A task whose engine, awb or endpoint fails goes on by itself so many times. Then it is held, for somebody to look.
: "${MAX_RESTARTS:=5}"
# How long an engine may load its model.
: "${WAIT_READY:=30m}"

: "${AWB:=awb}"
# A file that only you can read, with AWB_MODEL_API_KEY=... and AWB_JUDGE_API_KEY=... in it. The tasks read it: what is exported when
# submitting, Slurm keeps on disks of its own.
: "${KEYS:=$HOME/awb/keys}"
# Every other setting of awb: export AWB_<FLAG>=..., such as AWB_TOKENIZER or AWB_PRESET.
