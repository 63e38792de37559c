#!/bin/sh
# A Slurm of one node, this machine, for trying profiles/slurm out:
#
#   setup/one_node_slurm.sh start FOLDER    writes its files into FOLDER, starts it, and waits until it takes jobs
#   setup/one_node_slurm.sh stop FOLDER     ends it
#
# Jobs go there from a shell with SLURM_CONF=FOLDER/slurm.conf. Needs Debian's packages slurmctld, slurmd,
# slurm-client and munge, but none of their services: everything runs as the user who starts it, on two ports
# of this machine, and keeps its files in FOLDER. A job that takes more memory than it asked for is killed, as
# on a cluster.
set -eu

usage() {
    echo "usage: $0 start|stop FOLDER" >&2
    exit 2
}

stop() {
    for name in slurmctld slurmd munged; do
        if [ -s "$folder/$name.pid" ]; then
            kill "$(cat "$folder/$name.pid")" 2>/dev/null || true
        fi
    done
}

# Two ports that nothing listens on.
free_ports() {
    python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in sockets))'
}

write_configuration() {
    # shellcheck disable=SC2046
    set -- $(free_ports)
    memory_mb=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
    cat >"$folder/slurm.conf" <<END
ClusterName=one-node
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$2
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
ReturnToService=2
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$memory_mb State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

# Run a program that finds the configuration in /etc/slurm, as on a cluster, and nobody else does: Snakemake's
# plugin takes SLURM_CONF away from jobs.
seeing_configuration() {
    namespace=--mount
    [ "$(id -u)" -eq 0 ] || namespace='--user --map-current-user --keep-caps --mount'
    # shellcheck disable=SC2086,SC2016
    unshare $namespace sh -c 'mount --bind "$1" /etc/slurm && shift && exec "$@"' sh "$folder" "$@"
}

start() {
    for program in munged slurmctld slurmd sinfo; do
        if ! command -v "$program" >/dev/null; then
            echo "$0: $program is not on PATH: apt-get install slurmctld slurmd slurm-client munge" >&2
            exit 3
        fi
    done
    mkdir -p "$folder/state" "$folder/spool"
    chmod 700 "$folder"
    (umask 077 && head -c 1024 /dev/urandom >"$folder/munge.key")
    write_configuration
    export SLURM_CONF="$folder/slurm.conf"
    munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
        --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munged.seed" \
        2>"$folder/munged.err"
    slurmctld
    seeing_configuration slurmd
    tries=60
    until sinfo --noheader --format=%t 2>/dev/null | grep -q '^idle'; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ]; then
            echo "$0: Slurm does not come up; its logs are in $folder" >&2
            stop
            exit 1
        fi
        sleep 1
    done
    echo "Slurm takes jobs. In the shell that starts the pipeline: export SLURM_CONF=$SLURM_CONF"
}

[ $# -eq 2 ] || usage
PATH=$PATH:/usr/sbin:/sbin
case $1 in
start)
    mkdir -p "$2"
    folder=$(cd "$2" && pwd)
    start
    ;;
stop)
    folder=$(cd "$2" && pwd)
    stop
    ;;
*) usage ;;
esac
