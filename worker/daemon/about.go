package daemon

// Short and About describe a worker process.
const (
	Short = "Execute runs of a Temporal cluster"
	About = `A worker process executes work from a Temporal cluster until it gets a signal. Any number of workers share the work; they must use the
same landscape and payload store, and the same fingerprint key if documents use secrets. A run whose document names local files is
executed by workers that see the same files (--files).

Every option can also be given as an environment variable (--pollers is WAYMARK_POLLERS) or as a key of a settings file.
The command line overrides the environment, and the environment overrides the file. Temporal's address, namespace, API key and certificates come from
Temporal's own variables (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*), credentials for S3 from those of AWS,
and where traces are sent from those of OpenTelemetry (OTEL_EXPORTER_OTLP_ENDPOINT).

After the first SIGTERM, SIGHUP or Ctrl-C the worker finishes its work in flight; the second ends the process at once.`
)
