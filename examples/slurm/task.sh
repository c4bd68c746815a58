# Shared by infer.sbatch and judge.sbatch: starts an engine next to awb, handles signals, and maps awb's exit code to Slurm.

# Name of the array task or job for scontrol.
task=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
task=${task:-$SLURM_JOB_ID}
awb='' engine='' watcher='' limit='' told='' base_url=''

if [ -r "$KEYS" ]; then
  set -a
  # shellcheck source=/dev/null
  . "$KEYS"
  set +a
fi

say() { echo "$(date -u +%FT%TZ) task $task: $*" >&2; }

# Near the time limit, --signal=B:USR1@300 signals only this script. awb saves finished rows and ends within seconds.
trap 'limit=1; [ -z "$awb" ] || kill -TERM "$awb"' USR1
# scancel, preemption and scontrol requeue send TERM to every process of the task, and KILL after KillWait. This script survives TERM
# so that awb can end, and leaves the rest to Slurm: if it requeued itself, a cancelled task would come back.
trap 'told=1' TERM
trap 'kill $watcher $engine 2> /dev/null' EXIT

# Starts the engine by the given command at a free port of this node. Without a command, uses the given endpoint.
start_engine() {
  local serve=$1
  base_url=$2
  [ -n "$serve" ] || return 0
  # Tasks of several jobs can share a node, so a fixed port may be taken. The port is below the ephemeral ports, since an engine may
  # load for minutes before it binds it.
  PORT=$(node -e '
    const server = require("node:net").createServer();
    const look = () => server.listen(10_000 + Math.floor(Math.random() * 20_000), "127.0.0.1");
    server.on("error", (error) => { if (error.code !== "EADDRINUSE") throw error; look(); });
    server.on("listening", () => { console.log(server.address().port); server.close(); });
    look();
  ')
  [ -n "$PORT" ] || again 'no port is free'
  export PORT
  base_url=http://127.0.0.1:$PORT/v1
  eval "exec $serve" > "$OUT/log/engine-$task.log" 2>&1 &
  engine=$!
  say "engine $engine at port $PORT, log $OUT/log/engine-$task.log"
}

# Runs awb, and exits, requeues or holds the task according to its exit code.
run_and_leave() {
  local code=0
  [ -z "$told" ] || exit 143
  [ -z "$limit" ] || requeue 'the time limit is near'
  "$@" &
  awb=$!
  # If the engine dies while it loads, --wait-ready would wait its full time, so end awb. A signal sent right after the fork can reach
  # bash before it becomes awb and get lost, so repeat it until awb has ended.
  if [ -n "$engine" ]; then
    (while kill -0 "$engine"; do sleep 2; done; while kill -TERM "$awb"; do sleep 10; done) 2> /dev/null &
    watcher=$!
  fi
  # A trap ends `wait` early, with its own exit code.
  while kill -0 "$awb" 2> /dev/null; do wait "$awb" || true; done
  wait "$awb" || code=$?
  [ -z "$told" ] || exit "$code"
  case $code in
    0) exit 0 ;;
    # Permanently failed rows stop nothing: merge, score and gate count them as missing, and the gate says INCOMPLETE.
    3) say 'some rows failed; see the manifest'; exit 0 ;;
    # The endpoint is down, or a signal (out of memory: 137) ended awb: finished rows are safe, and the same command continues.
    69 | 134 | 137 | 139) again "awb ended with $code" ;;
    # This script stopped awb, because the time limit was near or the engine had died.
    143) if [ -n "$limit" ]; then requeue 'the time limit is near'; else again 'the engine has died'; fi ;;
    # The budget is spent or the key is refused: somebody has to fix that and release the task.
    75 | 77) hold "awb ended with $code" ;;
    # A retry cannot fix flags, data, identity or disk. Slurm cancels the jobs that depend on this one.
    *) say "awb ended with $code"; exit "$code" ;;
  esac
}

# Retries after a failure, a limited number of times. Time limits do not count as failures: the task makes progress between them.
again() {
  local failures=$OUT/log/failures-$task
  echo "$1" >> "$failures"
  if [ "$(wc -l < "$failures")" -gt "$MAX_RESTARTS" ]; then
    rm "$failures"
    hold "$1, after $MAX_RESTARTS restarts"
  fi
  requeue "$1"
}

# To requeue a running task, Slurm ends it with TERM and starts it again with the same command.
requeue() {
  [ -z "$told" ] || exit 143
  say "$1; requeued"
  scontrol requeue "$task" || exit 1
  sleep 600 & wait
  exit 1
}

# A held task keeps its place, and the jobs after it wait.
hold() {
  [ -z "$told" ] || exit 143
  say "$1; held until: scontrol release $task"
  scontrol requeuehold "$task" || exit 1
  sleep 600 & wait
  exit 1
}
