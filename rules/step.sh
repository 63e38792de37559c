# Every rule's command starts with `step LOG &&`. From there on, the command's output goes into LOG; when the
# command fails, its exit code and the name LOG are left in results/logs/failed_step, for the end of the
# pipeline (torsweep.pipeline.failed_step).
set -euo pipefail

step() {
    step_log=$1
    exec >"$step_log" 2>&1
    trap step_ended EXIT
}

# The file exists from the start, at its full length, and is written in place: this works on a full disk.
step_ended() {
    step_code=$?
    if [ "$step_code" -ne 0 ]; then
        printf '%-3s %s\n' "$step_code" "$step_log" 1<>results/logs/failed_step || true
    fi
}
