# A team's settings, in one place. Variables exported by the submitting shell override them.
# A task reads this file when it starts, not when it is submitted, so a requeued or released task sees your changes.

# Output folder of this checkpoint (shards/, merged/, log/), on a file system that all nodes share.
: "${LABEL:=step-2000}"
: "${OUT:=$HOME/awb/$LABEL}"
: "${DATA_DIR:=$HOME/awb/data}"
# One SQLite file for all checkpoints. BASE is the run in it that a checkpoint is compared with.
: "${DB:=$HOME/awb/runs.sqlite}"
: "${BASE:=production}"
: "${POLICY:=$HOME/awb/gate.yaml}"

# A shard is an array task. Prefer shards of several hours to short ones: each loads the model again.
: "${SHARDS:=8}"

# The world model, served by each task on its own node at $PORT. With SERVE='' all tasks use the endpoint MODEL_BASE_URL instead.
: "${MODEL:=Qwen/Qwen-AgentWorld-35B-A3B}"
: "${SERVE=vllm serve $MODEL --host 127.0.0.1 --port \$PORT --max-model-len 262144 --reasoning-parser qwen3 --language-model-only}"
: "${MODEL_BASE_URL:=}"
# The judge, served the same way, but in one job. JUDGE_LIMITS are for a hosted judge, such as '--rpm 500 --budget-usd 50'.
: "${JUDGE_MODEL:=gpt-5.2-2025-12-11}"
: "${JUDGE_SERVE:=}"
: "${JUDGE_BASE_URL:=https://api.openai.com/v1}"
: "${JUDGE_LIMITS:=}"

# Flags of sbatch in addition to those in the scripts. Tasks that serve a model need its GPUs, the others very little.
: "${INFER_SBATCH=--gpus=1 --cpus-per-task=8 --mem=64G --time=08:00:00}"
: "${JUDGE_SBATCH=--cpus-per-task=2 --mem=4G --time=08:00:00}"
: "${MERGE_SBATCH=--cpus-per-task=2 --mem=4G --time=01:00:00}"

# How often a task restarts itself after its engine, awb or endpoint fails. Then it is held until somebody releases it.
: "${MAX_RESTARTS:=5}"
# How long an engine may take to load its model.
: "${WAIT_READY:=30m}"

: "${AWB:=awb}"
# A file that only you can read, with AWB_MODEL_API_KEY=... and AWB_JUDGE_API_KEY=.... The tasks read it. Do not export keys when you
# submit: Slurm writes exported variables to its own disks.
: "${KEYS:=$HOME/awb/keys}"
# For any other setting of awb, export AWB_<FLAG>=..., such as AWB_TOKENIZER or AWB_PRESET.
