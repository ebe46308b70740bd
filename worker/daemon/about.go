package daemon

// Short and About tell people what a worker process is.
const (
	Short = "Work for the runs of a cluster"
	About = `A worker process takes work from a Temporal cluster until it is told to end. Any number of them share the work; they must see the
same record and payload store, and the same fingerprint key if documents use secrets. Runs whose documents name local files are worked
on by processes that see the same files (--files).

Every option can also be given as an environment variable (--max-activities is WAYMARK_MAX_ACTIVITIES) or as a key of a settings file.
The command line comes first, then the environment, then the file. Temporal's address, namespace, API key and certificates come from
Temporal's own variables (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*), credentials for S3 from those of AWS,
and where traces are sent from those of OpenTelemetry (OTEL_EXPORTER_OTLP_ENDPOINT).

The first SIGTERM, SIGHUP or Ctrl-C lets the work in hand come to its end, the second ends the process at once.`
)
