# start.sh PROGRAM [OPTION]...: serves on 127.0.0.2 at the port of the replay, so that several can run side by side.
port=$(sed -n 's|.*"server": *"[^"]*:\([0-9]*\)".*|\1|p' "$KUBECONFIG")
program=$1
shift
exec "$program" --kubeconfig "$KUBECONFIG" --host 127.0.0.2 --port "$port" --telemetry-host 127.0.0.3 --telemetry-port "$port" "$@"
