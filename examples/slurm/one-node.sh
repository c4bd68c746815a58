#!/usr/bin/env bash
# A one-node Slurm to try the scripts of this folder on one machine: runs as root, without systemd, also in a container.
#
#   apt-get install -y --no-install-recommends slurm-wlm munge
#   export SLURM_CONF=$(examples/slurm/one-node.sh start /tmp/slurm)   # sbatch, squeue and scontrol now use this node
#   examples/slurm/one-node.sh stop /tmp/slurm
#
# Everything is in the folder: keys, sockets, logs, state, process ids. Nothing under /etc, /run or /var is read or written. It picks
# free ports, and `stop` ends only the processes that `start` started. For experiments, not a replacement for a cluster.
set -euo pipefail

usage() { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# = 2 ] || usage
action=$1
dir=$(realpath -m "$2")

# Debian installs daemons in root's path only.
PATH=$PATH:/usr/sbin

# Slots rather than processors: eight array tasks that wait for a server can run in parallel on two cores.
SLOTS=${SLOTS:-8}

alive() { [ -s "$1" ] && kill -0 "$(cat "$1")" 2> /dev/null; }

await() {
  local what=$1
  shift
  for _ in $(seq 300); do
    "$@" > /dev/null 2>&1 && return
    sleep 0.1
  done
  echo "one-node.sh: $what does not answer; see its log in $dir/log" >&2
  tail -n 5 "$dir"/log/*.log >&2
  exit 1
}

# Below the ephemeral ports: the system could hand one of those to another process before the daemons start.
free_ports() {
  node -e '
    const { createServer } = require("node:net");
    const servers = [];
    const look = () => {
      const server = createServer().once("error", (error) => {
        if (error.code !== "EADDRINUSE") throw error;
        look();
      });
      server.listen(10_000 + Math.floor(Math.random() * 20_000), "127.0.0.1", () => {
        if (servers.push(server) < 2) look();
        else for (const one of servers) { console.log(one.address().port); one.close(); }
      });
    };
    look();
  '
}

write_conf() {
  local ports
  mapfile -t ports < <(free_ports)
  cat > "$dir/slurm.conf" << CONF
ClusterName=one-node
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A requeued job waits until its old credential has expired (120 s by default).
AuthInfo=socket=$dir/munge/socket,cred_expire=5
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.log
# A container cannot create cgroups.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
KillWait=10
ReturnToService=2
NodeName=one NodeHostname=localhost NodeAddr=127.0.0.1 CPUs=$SLOTS State=UNKNOWN
PartitionName=all Nodes=one Default=YES MaxTime=INFINITE State=UP
CONF
}

start() {
  [ "$(id -u)" = 0 ] || { echo "one-node.sh: only root can start Slurm's daemons" >&2; exit 1; }
  for program in munged slurmctld slurmd sbatch node; do
    command -v "$program" > /dev/null || { echo "one-node.sh: $program is not installed" >&2; exit 1; }
  done
  ! alive "$dir/slurmctld.pid" || { echo "one-node.sh: a node already runs in $dir; stop it first" >&2; exit 1; }
  mkdir -p "$dir"/{log,state,spool,munge}
  # munged needs a socket that every user can reach, in folders that no other user can change.
  chmod 711 "$dir" "$dir/munge"
  chmod 700 "$dir/log" "$dir/state"
  export SLURM_CONF=$dir/slurm.conf
  write_conf
  (umask 077 && head -c 1024 /dev/urandom > "$dir/munge/key")
  munged --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/log/munged.log" --seed-file="$dir/munge/seed" --num-threads=2 >&2
  await munged munge -n -S "$dir/munge/socket"
  slurmctld -c >&2
  await slurmctld scontrol ping
  slurmd -N one >&2
  await slurmd sh -c "sinfo -h -o %t | grep -qx idle"
  echo "$SLURM_CONF"
}

stop() {
  export SLURM_CONF=$dir/slurm.conf
  # Jobs first: their processes are children of slurmstepd and would outlive the daemons.
  if alive "$dir/slurmctld.pid"; then
    scancel --full --signal=KILL --user=root > /dev/null 2>&1 || true
    scancel --user=root > /dev/null 2>&1 || true
    for _ in $(seq 100); do [ -z "$(squeue -h 2> /dev/null)" ] && break; sleep 0.1; done
  fi
  for name in slurmd slurmctld munged; do
    alive "$dir/$name.pid" || continue
    pid=$(cat "$dir/$name.pid")
    kill "$pid"
    for _ in $(seq 100); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
    kill -KILL "$pid" 2> /dev/null || true
  done
}

case $action in
  start) start ;;
  stop) stop ;;
  *) usage ;;
esac
