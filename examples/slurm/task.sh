# Shared by infer.sbatch and judge.sbatch: an engine next to awb, signals, and what awb's exit code means for Slurm.

# The name by which scontrol knows it: a task of an array, or a job.
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

# Near the time limit, --signal=B:USR1@300 tells this script alone. awb saves what is finished and ends within seconds.
trap 'limit=1; [ -z "$awb" ] || kill -TERM "$awb"' USR1
# scancel, preemption and scontrol requeue send TERM to every process of the task, and KILL after KillWait. This script outlives
# the first, so that awb can end, and leaves the rest to Slurm: a cancelled task that requeued itself would come back.
trap 'told=1' TERM
trap 'kill $watcher $engine 2> /dev/null' EXIT

# Starts the engine that the command names, at a free port of this node; without one, the endpoint is the one given.
start_engine() {
  local serve=$1
  base_url=$2
  [ -n "$serve" ] || return 0
  # Tasks of several jobs can share a node, so that a port of one's own choosing may be taken. It is below those that the system gives
  # to whoever asks for any, since an engine may load for minutes before it takes it.
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

# Runs awb and leaves with what its exit code means for Slurm.
run_and_leave() {
  local code=0
  [ -z "$told" ] || exit 143
  [ -z "$limit" ] || requeue 'the time limit is near'
  "$@" &
  awb=$!
  # --wait-ready would wait its whole time for an engine that has died while it loaded. A process that has only just been made can
  # lose a signal to bash, which has yet to become awb, so that awb is told until it has ended.
  if [ -n "$engine" ]; then
    (while kill -0 "$engine"; do sleep 2; done; while kill -TERM "$awb"; do sleep 10; done) 2> /dev/null &
    watcher=$!
  fi
  # A trap ends `wait` early, with a code of its own.
  while kill -0 "$awb" 2> /dev/null; do wait "$awb" || true; done
  wait "$awb" || code=$?
  [ -z "$told" ] || exit "$code"
  case $code in
    0) exit 0 ;;
    # Rows that failed for good hold nobody up: merge, score and gate count them as missing, and the gate says INCOMPLETE.
    3) say 'some rows failed; see the manifest'; exit 0 ;;
    # The endpoint has gone, or a signal (out of memory: 137) has ended awb: what is finished is safe, and the same command goes on.
    69 | 134 | 137 | 139) again "awb ended with $code" ;;
    # We have told awb to stop, near the time limit or since its engine has died.
    143) if [ -n "$limit" ]; then requeue 'the time limit is near'; else again 'the engine has died'; fi ;;
    # The budget is spent, or the key refused: somebody has to mend that and to release the task.
    75 | 77) hold "awb ended with $code" ;;
    # Flags, data, identity, disk: the same again would end the same. The jobs that depend on this one are cancelled.
    *) say "awb ended with $code"; exit "$code" ;;
  esac
}

# After a failure: once more, but not for ever. Time limits do not count, since between two of them a task gets as far as it can.
again() {
  local failures=$OUT/log/failures-$task
  echo "$1" >> "$failures"
  if [ "$(wc -l < "$failures")" -gt "$MAX_RESTARTS" ]; then
    rm "$failures"
    hold "$1, after $MAX_RESTARTS restarts"
  fi
  requeue "$1"
}

# Slurm ends a running task that is requeued, with TERM, and starts it again by the same command.
requeue() {
  [ -z "$told" ] || exit 143
  say "$1; requeued"
  scontrol requeue "$task" || exit 1
  sleep 600 & wait
  exit 1
}

# Held, the task keeps its place, and the jobs behind it wait.
hold() {
  [ -z "$told" ] || exit 143
  say "$1; held until: scontrol release $task"
  scontrol requeuehold "$task" || exit 1
  sleep 600 & wait
  exit 1
}
