//! `plimsoll serve`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use super::{
    EngineArgs, LogFormat,
    values::{duration, duration_or_zero, quantity},
};

/// The default of `--request-timeout`; a test compares them.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,

    #[command(flatten)]
    pub(crate) view: ViewArgs,

    #[command(flatten)]
    pub(crate) listeners: ListenerArgs,

    #[command(flatten)]
    pub(crate) binding: BindingArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// The directory of policies, and how it is watched.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Policies")]
pub(crate) struct DirectoryArgs {
    /// The directory of policies; its sub-directories are groups, each with its URL
    #[arg(long, env = "PLIMSOLL_POLICIES", value_name = "DIR")]
    pub(crate) policies: PathBuf,

    /// The time that a file must stay unchanged before it is loaded
    #[arg(long, env = "PLIMSOLL_SETTLE", value_name = "TIME", default_value = "100ms", value_parser = duration)]
    pub(crate) settle: Duration,

    /// Poll the directory for changes at this interval instead of using inotify
    #[arg(long, env = "PLIMSOLL_POLL", value_name = "TIME", value_parser = duration)]
    pub(crate) poll: Option<Duration>,

    /// Refuse a module without a sidecar: one whose sidecar is lost is else enforced for every pod
    #[arg(long, env = "PLIMSOLL_REQUIRE_SIDECARS")]
    pub(crate) require_sidecars: bool,

    /// Become ready even if a policy could not be loaded at the start, and answer without it, whatever its onError
    #[arg(long, env = "PLIMSOLL_ALLOW_DEGRADED")]
    pub(crate) allow_degraded: bool,

    /// Accept a directory without policies: start with none, and remove policies when all their files are gone
    #[arg(long, env = "PLIMSOLL_ALLOW_EMPTY")]
    pub(crate) allow_empty: bool,
}

/// Where nodes, pods and facts come from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The cluster")]
pub(crate) struct ViewArgs {
    /// Nodes and pods from a file (`kubectl get nodes,pods -A -o json`), read again when it changes
    #[arg(long, env = "PLIMSOLL_SNAPSHOT", value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,

    /// Watch nodes and pods through this kubeconfig [default in a pod: its service account]
    #[arg(long, env = "PLIMSOLL_KUBECONFIG", value_name = "FILE", conflicts_with = "snapshot")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of --kubeconfig [default: its current one]
    #[arg(long, env = "PLIMSOLL_CONTEXT", value_name = "NAME", requires = "kubeconfig")]
    pub(crate) context: Option<String>,

    /// Report not ready when the watch has been silent for this long
    #[arg(long, env = "PLIMSOLL_MAX_STALENESS", value_name = "TIME", default_value = "3m", value_parser = duration)]
    pub(crate) max_staleness: Duration,

    /// The sources of facts that policies may name (YAML): Prometheus, a URL, a ConfigMap or a file for each, fetched at an
    /// interval; this file must be outside --policies [default: none]
    #[arg(long, env = "PLIMSOLL_FACTS", value_name = "FILE")]
    pub(crate) facts: Option<PathBuf>,

    /// The `CSIStorageCapacity` in the namespace of the Lease that is annotated to make kube-scheduler try rejected pods
    /// again, when a fact, a policy, a mode or a namespace has changed
    #[arg(long, env = "PLIMSOLL_WAKE_OBJECT", value_name = "NAME", default_value = "plimsoll-wake")]
    pub(crate) wake_object: String,

    /// Never make kube-scheduler try rejected pods again
    #[arg(long, env = "PLIMSOLL_NO_WAKE")]
    pub(crate) no_wake: bool,

    /// Never nominate a rejected pod for a node that fits and that kube-scheduler has not looked at
    #[arg(long, env = "PLIMSOLL_NO_NOMINATE")]
    pub(crate) no_nominate: bool,
}

/// The addresses that serve clients, and TLS of the extender port.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Listeners")]
pub(crate) struct ListenerArgs {
    /// The address that kube-scheduler calls; port 0 picks a free port and logs it
    #[arg(long, env = "PLIMSOLL_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8888")]
    pub(crate) listen: SocketAddr,

    /// The address that serves /healthz, /readyz, /metrics and /api; /api shows settings, pods and nodes, so keep it
    /// private
    #[arg(long, env = "PLIMSOLL_ADMIN", value_name = "ADDRESS", default_value = "127.0.0.1:8889")]
    pub(crate) admin: SocketAddr,

    /// A second address that serves /healthz, /readyz and /metrics only, for a kubelet and a scraper; it shows no
    /// settings, pods or nodes [default: none]
    #[arg(long, env = "PLIMSOLL_PROBES", value_name = "ADDRESS")]
    pub(crate) probes: Option<SocketAddr>,

    /// The server certificate and its issuers (PEM); --listen then accepts TLS only
    #[arg(long, env = "PLIMSOLL_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert (PEM)
    #[arg(long, env = "PLIMSOLL_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Accept only clients with a certificate signed by one of these authorities (PEM), and other replicas, which have
    /// the certificate of --tls-cert
    #[arg(long, env = "PLIMSOLL_TLS_CLIENT_CA", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_client_ca: Option<PathBuf>,
}

/// Which clients may ask for a bind, and which replica binds. Only a gateway with a watch on the API server binds.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Binding")]
pub(crate) struct BindingArgs {
    /// Allow /bind for client certificates (see --tls-client-ca) with one of these Common Names. Other replicas, and
    /// clients on a loopback --listen, may always bind
    #[arg(
        long,
        env = "PLIMSOLL_BIND_CLIENTS",
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "system:kube-scheduler"
    )]
    pub(crate) bind_clients: Vec<String>,

    /// Allow /bind for every client that reaches --listen. Such a client can place any pod on any node, so use this only
    /// in a trusted network
    #[arg(long, env = "PLIMSOLL_BIND_WITHOUT_AUTHENTICATION")]
    pub(crate) bind_without_authentication: bool,

    /// Never bind, and never try to acquire the Lease
    #[arg(long, env = "PLIMSOLL_NO_BIND")]
    pub(crate) no_bind: bool,

    /// The Lease whose holder binds
    #[arg(long, env = "PLIMSOLL_LEASE_NAME", value_name = "NAME", default_value = "plimsoll")]
    pub(crate) lease_name: String,

    /// The namespace of the Lease [default: the pod's, or that of the kubeconfig's context]
    #[arg(long, env = "PLIMSOLL_LEASE_NAMESPACE", value_name = "NAME")]
    pub(crate) lease_namespace: Option<String>,

    /// The time that the Lease lasts without renewal; another replica takes over after 9/8 of it
    #[arg(long, env = "PLIMSOLL_LEASE_DURATION", value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) lease_duration: Duration,

    /// The name of this replica in the Lease [default: `$POD_NAME`, or the host's name]
    #[arg(long, env = "PLIMSOLL_IDENTITY", value_name = "NAME")]
    pub(crate) identity: Option<String>,

    /// The time that a filter that counts pods waits for the bind calls of pods that were decided just before, so that
    /// it counts them too; 0s: it does not wait
    #[arg(long, env = "PLIMSOLL_BIND_CALL_WAIT", value_name = "TIME", default_value = "5ms", value_parser = duration_or_zero)]
    pub(crate) bind_call_wait: Duration,

    /// The URL to which other replicas forward binds while this one leads [default: --listen, with `$POD_IP` if set]
    #[arg(long, env = "PLIMSOLL_ADVERTISE", value_name = "URL")]
    pub(crate) advertise: Option<String>,
}

/// Limits on requests, and on the cache of answers.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Time limit for one request; keep it below the scheduler's httpTimeout (5s)
    #[arg(long, env = "PLIMSOLL_REQUEST_TIMEOUT", value_name = "TIME", default_value = "4s", value_parser = duration)]
    pub(crate) request_timeout: Duration,

    /// The largest request body
    #[arg(long, env = "PLIMSOLL_BODY_LIMIT", value_name = "SIZE", default_value = "256Mi", value_parser = quantity)]
    pub(crate) body_limit: usize,

    /// Memory for all request bodies together, and for the data decoded from them, until their replies are sent
    #[arg(long, env = "PLIMSOLL_WIRE_MEMORY", value_name = "SIZE", default_value = "1Gi", value_parser = quantity)]
    pub(crate) wire_memory: usize,

    /// The most nodes or names in one list of a request, and candidates or victims
    #[arg(long, env = "PLIMSOLL_MAX_NODES", value_name = "NUMBER", default_value = "100000")]
    pub(crate) max_nodes: usize,

    /// The time that SIGTERM waits for requests in flight
    #[arg(long, env = "PLIMSOLL_DRAIN_TIMEOUT", value_name = "TIME", default_value = "25s", value_parser = duration)]
    pub(crate) drain_timeout: Duration,

    /// Memory for the decision cache: cached answers of policies, and the node columns that index them
    #[arg(long, env = "PLIMSOLL_DECISION_CACHE_SIZE", value_name = "SIZE", default_value = "256Mi", value_parser = quantity)]
    pub(crate) decision_cache_size: usize,
}

/// Log lines.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// Format of log lines, which go to standard error
    #[arg(long, env = "PLIMSOLL_LOG_FORMAT", value_name = "FORMAT", default_value = "pretty")]
    pub(crate) log_format: LogFormat,

    /// Log level, or a filter such as `info,plimsoll::guest=debug`; without a level, targets log warnings
    #[arg(long, env = "PLIMSOLL_LOG", value_name = "FILTER", default_value = "info")]
    pub(crate) log: String,
}
