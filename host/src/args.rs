//! What a user may type; every flag is also an environment variable.

mod cluster;
#[cfg(test)]
mod defaults;
mod values;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{
    Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    builder::{BoolishValueParser, OsStr, Resettable},
};

pub(crate) use cluster::ClusterArgs;
use values::{duration, group, quantity};

/// One scheduler extender that fronts many WebAssembly policies.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, about, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads the command line and the environment, or ends the process with what is wrong.
pub(crate) fn parse() -> Args {
    let matches = with_plain_variables(Args::command()).get_matches();
    Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Reads variables as templates and people write them.
///
/// One that is set to nothing counts as one that is not set, and that of a flag without a value may say 1 or yes.
fn with_plain_variables(command: clap::Command) -> clap::Command {
    let plain = |arg: Arg| {
        let Some(name) = arg.get_env() else { return arg };
        if std::env::var_os(name).is_some_and(|value| value.is_empty()) {
            return arg.env(Resettable::<OsStr>::Reset);
        }
        if matches!(arg.get_action(), ArgAction::SetTrue) { arg.value_parser(BoolishValueParser::new()) } else { arg }
    };
    command.mut_args(plain).mut_subcommands(with_plain_variables)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer kube-scheduler: load a directory of policies and serve the extender wire
    Serve(Box<ServeArgs>),
    /// Report what a policy file exports, imports and costs, or why it is refused
    Check(CheckArgs),
    /// Ask the policies about one pod and print a table: node by policy, with verdict, score and reason
    Run(RunArgs),
    /// Show each policy's answer about one pod and one node, with every value that it read
    Explain(ExplainArgs),
    /// Ask a policy about pods and all nodes, and print its answers as a decision table
    Table(TableArgs),
    /// Print the KubeSchedulerConfiguration for a directory of policies
    SchedulerConfig(SchedulerConfigArgs),
    /// Print the version, commit, contract and engine of this build
    Version(VersionArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Compile the module on standard input, as the process that the other commands start for it
    #[command(hide = true)]
    CompileModule(CompileModuleArgs),
}

/// How tables and reports are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Output format
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,
}

/// How log lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object a line
    Json,
    /// Text with colours where the terminal has them
    Pretty,
}

/// Where policies are compiled and kept, and how large they may grow.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct EngineArgs {
    /// Cache directory for compiled policies [default: `plimsoll` in the user's cache directory]
    #[arg(long, env = "PLIMSOLL_CACHE", value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,

    /// Do not cache compiled policies: compile them again at each start
    #[arg(long, env = "PLIMSOLL_NO_CACHE", conflicts_with = "cache")]
    pub(crate) no_cache: bool,

    /// Disk space for compiled policies; the least recently used are deleted first
    #[arg(long, env = "PLIMSOLL_CACHE_SIZE", value_name = "SIZE", default_value = "256Mi", value_parser = quantity)]
    pub(crate) cache_size: usize,

    /// Memory limit of the process that compiles a policy; lower if the container's limit leaves less
    #[arg(long, env = "PLIMSOLL_COMPILE_MEMORY", value_name = "SIZE", default_value = "1Gi", value_parser = quantity)]
    pub(crate) compile_memory: usize,

    /// Time limit for compiling one policy
    #[arg(long, env = "PLIMSOLL_COMPILE_TIMEOUT", value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) compile_timeout: Duration,

    /// The largest memory limit that a sidecar may set for its policy
    #[arg(long, env = "PLIMSOLL_MAX_POLICY_MEMORY", value_name = "SIZE", default_value = "256Mi", value_parser = quantity)]
    pub(crate) max_policy_memory: usize,

    /// The number of policy calls that may run at once
    #[arg(long, env = "PLIMSOLL_MAX_CALLS", value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_calls: u32,

    /// Memory limit for all running policy calls together [default: a quarter of the container's limit, or 1Gi]
    #[arg(long, env = "PLIMSOLL_GUEST_MEMORY", value_name = "SIZE", value_parser = quantity)]
    pub(crate) guest_memory: Option<usize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompileModuleArgs {
    /// Bytes of memory that this process may take
    #[arg(long, value_name = "SIZE", value_parser = quantity)]
    pub(crate) memory: usize,

    /// Processor time that this process may take
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) cpu: Duration,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The directory of policies; its sub-directories are groups with URLs of their own
    #[arg(long, env = "PLIMSOLL_POLICIES", value_name = "DIR")]
    pub(crate) policies: PathBuf,

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

    /// The address that kube-scheduler calls; port 0 picks a free port and logs it
    #[arg(long, env = "PLIMSOLL_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8888")]
    pub(crate) listen: SocketAddr,

    /// The server certificate and its issuers (PEM); --listen then accepts TLS only
    #[arg(long, env = "PLIMSOLL_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert (PEM)
    #[arg(long, env = "PLIMSOLL_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Accept only clients with a certificate signed by one of these authorities (PEM). They must issue certificates
    /// with the DNS names of --tls-cert to nobody else, since such a client counts as another replica
    #[arg(long, env = "PLIMSOLL_TLS_CLIENT_CA", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_client_ca: Option<PathBuf>,

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

    /// The address that serves /healthz, /readyz, /metrics and /api; /api shows settings, pods and nodes, so keep it
    /// private
    #[arg(long, env = "PLIMSOLL_ADMIN", value_name = "ADDRESS", default_value = "127.0.0.1:8889")]
    pub(crate) admin: SocketAddr,

    /// Host names that clients on this machine may use for --listen and --admin, besides `localhost` and IP addresses;
    /// other names are refused, as a web page could use them (DNS rebinding)
    #[arg(long, env = "PLIMSOLL_ALLOWED_HOSTS", value_name = "NAME", value_delimiter = ',')]
    pub(crate) allowed_hosts: Vec<String>,

    /// A second address that serves /healthz, /readyz and /metrics only, for a kubelet and a scraper; it shows no
    /// settings, pods or nodes [default: none]
    #[arg(long, env = "PLIMSOLL_PROBES", value_name = "ADDRESS")]
    pub(crate) probes: Option<SocketAddr>,

    /// Time limit for one request; keep it below the scheduler's httpTimeout (5s)
    #[arg(long, env = "PLIMSOLL_REQUEST_TIMEOUT", value_name = "TIME", default_value = "4s", value_parser = duration)]
    pub(crate) request_timeout: Duration,

    /// The largest request body
    #[arg(long, env = "PLIMSOLL_BODY_LIMIT", value_name = "SIZE", default_value = "256Mi", value_parser = quantity)]
    pub(crate) body_limit: usize,

    /// Memory for all request bodies together, and for the data decoded from them, until their replies are sent
    #[arg(long, env = "PLIMSOLL_WIRE_MEMORY", value_name = "SIZE", default_value = "1Gi", value_parser = quantity)]
    pub(crate) wire_memory: usize,

    /// The most requests in flight at once, on all connections
    #[arg(long, env = "PLIMSOLL_MAX_REQUESTS", value_name = "N", default_value_t = 1024)]
    pub(crate) max_requests: usize,

    /// The most connections at once
    #[arg(long, env = "PLIMSOLL_MAX_CONNECTIONS", value_name = "N", default_value_t = 4096)]
    pub(crate) max_connections: usize,

    /// Memory for the decision cache: cached answers of policies, and the node columns that index them
    #[arg(long, env = "PLIMSOLL_DECISION_CACHE_SIZE", value_name = "SIZE", default_value = "256Mi", value_parser = quantity)]
    pub(crate) decision_cache_size: usize,

    /// Re-evaluate one in N cached answers after the reply, to verify them; 0 disables
    #[arg(long, env = "PLIMSOLL_RECHECK_EVERY", value_name = "N", default_value_t = 1000)]
    pub(crate) recheck_every: u64,

    /// How long SIGTERM waits for requests in flight
    #[arg(long, env = "PLIMSOLL_DRAIN_TIMEOUT", value_name = "TIME", default_value = "25s", value_parser = duration)]
    pub(crate) drain_timeout: Duration,

    /// Poll the directory for changes at this interval instead of using inotify
    #[arg(long, env = "PLIMSOLL_POLL", value_name = "TIME", value_parser = duration)]
    pub(crate) poll: Option<Duration>,

    /// How long a file must stay unchanged before it is loaded
    #[arg(long, env = "PLIMSOLL_SETTLE", value_name = "TIME", default_value = "100ms", value_parser = duration)]
    pub(crate) settle: Duration,

    /// Become ready even if a policy could not be loaded at the start, and answer without it, whatever its onError
    #[arg(long, env = "PLIMSOLL_ALLOW_DEGRADED")]
    pub(crate) allow_degraded: bool,

    /// Accept a directory without policies: start with none, and remove policies when all their files are gone
    #[arg(long, env = "PLIMSOLL_ALLOW_EMPTY")]
    pub(crate) allow_empty: bool,

    /// Format of log lines, which go to standard error
    #[arg(long, env = "PLIMSOLL_LOG_FORMAT", value_name = "FORMAT", default_value = "pretty")]
    pub(crate) log_format: LogFormat,

    /// Log level, or a filter such as `info,plimsoll::guest=debug`
    #[arg(long, env = "PLIMSOLL_LOG", value_name = "FILTER", default_value = "info")]
    pub(crate) log: String,

    #[command(flatten)]
    pub(crate) lease: LeaseArgs,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// Who binds, of several replicas; with a watch on the API server alone.
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseArgs {
    /// Never bind, and never try to acquire the Lease
    #[arg(long, env = "PLIMSOLL_NO_BIND")]
    pub(crate) no_bind: bool,

    /// The Lease whose holder binds
    #[arg(long, env = "PLIMSOLL_LEASE_NAME", value_name = "NAME", default_value = "plimsoll")]
    pub(crate) lease_name: String,

    /// The namespace of the Lease [default: the pod's, or that of the kubeconfig's context]
    #[arg(long, env = "PLIMSOLL_LEASE_NAMESPACE", value_name = "NAME")]
    pub(crate) lease_namespace: Option<String>,

    /// How long the Lease lasts without renewal; another replica takes over after 9/8 of it
    #[arg(long, env = "PLIMSOLL_LEASE_DURATION", value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) lease_duration: Duration,

    /// The name of this replica in the Lease [default: `$POD_NAME`, or the host's name]
    #[arg(long, env = "PLIMSOLL_IDENTITY", value_name = "NAME")]
    pub(crate) identity: Option<String>,

    /// The URL to which other replicas forward binds while this one leads [default: --listen, with `$POD_IP` if set]
    #[arg(long, env = "PLIMSOLL_ADVERTISE", value_name = "URL")]
    pub(crate) advertise: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Policy modules (.wasm), sidecars (.yaml) to check with their module and settings, or directories of both
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Also refuse a module that could not be tried, because it needs settings and has no sidecar
    #[arg(long, env = "PLIMSOLL_STRICT")]
    pub(crate) strict: bool,

    /// Check that answers do not depend on the order of calls: ask about sample nodes forwards, backwards and one by one
    #[arg(long, env = "PLIMSOLL_PURITY")]
    pub(crate) purity: bool,

    /// Output format of the report
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The directory of policies
    #[arg(long, env = "PLIMSOLL_POLICIES", value_name = "DIR")]
    pub(crate) policies: PathBuf,

    /// The pod to place, YAML or JSON; `-` is standard input
    #[arg(long, env = "PLIMSOLL_POD", value_name = "FILE")]
    pub(crate) pod: PathBuf,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// The group of policies to ask
    #[arg(long, env = "PLIMSOLL_GROUP", value_name = "NAME", default_value = "", hide_default_value = true, value_parser = group)]
    pub(crate) group: String,

    /// Only these nodes
    #[arg(long = "node", env = "PLIMSOLL_NODES", value_name = "NAME", value_delimiter = ',')]
    pub(crate) nodes: Vec<String>,

    /// Show for each --node the values that every policy read
    #[arg(long, env = "PLIMSOLL_EXPLAIN", requires = "nodes")]
    pub(crate) explain: bool,

    /// The most rows of the table
    #[arg(long, env = "PLIMSOLL_ROWS", value_name = "N", default_value_t = 20)]
    pub(crate) rows: usize,

    /// Output format of the table
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The directory of policies
    #[arg(long, env = "PLIMSOLL_POLICIES", value_name = "DIR")]
    pub(crate) policies: PathBuf,

    /// The pod to ask about, YAML or JSON; `-` is standard input
    #[arg(long, env = "PLIMSOLL_POD", value_name = "FILE")]
    pub(crate) pod: PathBuf,

    /// The node to ask about
    #[arg(long, env = "PLIMSOLL_NODE", value_name = "NAME")]
    pub(crate) node: String,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// The group of policies to ask
    #[arg(long, env = "PLIMSOLL_GROUP", value_name = "NAME", default_value = "", hide_default_value = true, value_parser = group)]
    pub(crate) group: String,

    /// Output format
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    /// The policy, with its group: `gpu/binpack`
    pub(crate) policy: String,

    /// The directory of policies
    #[arg(long, env = "PLIMSOLL_POLICIES", value_name = "DIR")]
    pub(crate) policies: PathBuf,

    /// Files with the pods to ask about, YAML or JSON, each with one pod, several or a list; `-` is standard input
    #[arg(long = "pod", env = "PLIMSOLL_PODS", value_name = "FILE", value_delimiter = ',', required = true)]
    pub(crate) pods: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// Output format
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct SchedulerConfigArgs {
    /// The directory of policies: one extender for each group, with the verbs that its policies have
    #[arg(long, env = "PLIMSOLL_POLICIES", value_name = "DIR")]
    pub(crate) policies: PathBuf,

    /// Where kube-scheduler reaches plimsoll
    #[arg(long, env = "PLIMSOLL_URL", value_name = "URL", default_value = "http://127.0.0.1:8888")]
    pub(crate) url: String,

    /// A profile of the scheduler, named as pods name it in schedulerName; may be given more than once
    #[arg(long = "profile", env = "PLIMSOLL_PROFILES", value_name = "NAME", value_delimiter = ',')]
    pub(crate) profiles: Vec<String>,

    /// The CA of plimsoll's certificate: a path on the scheduler's machine; for an https URL
    #[arg(long, env = "PLIMSOLL_CA_FILE", value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// The scheduler's client certificate: a path on its machine; for an https URL
    #[arg(long, env = "PLIMSOLL_CERT_FILE", value_name = "FILE", requires = "key_file")]
    pub(crate) cert_file: Option<PathBuf>,

    /// The private key of --cert-file: a path on the scheduler's machine
    #[arg(long, env = "PLIMSOLL_KEY_FILE", value_name = "FILE", requires = "cert_file")]
    pub(crate) key_file: Option<PathBuf>,

    /// The name in plimsoll's certificate, if it differs from the URL's; for an https URL
    #[arg(long, env = "PLIMSOLL_SERVER_NAME", value_name = "NAME")]
    pub(crate) server_name: Option<String>,

    /// A managed resource that the policies count and the scheduler does not; may be given more than once
    #[arg(
        long = "ignored-by-scheduler",
        env = "PLIMSOLL_IGNORED_BY_SCHEDULER",
        value_name = "RESOURCE",
        value_delimiter = ','
    )]
    pub(crate) ignored_by_scheduler: Vec<String>,

    /// Print the policy file of Kubernetes 1.2 to 1.22 (`kind: Policy`, JSON) instead
    #[arg(long, env = "PLIMSOLL_LEGACY_POLICY")]
    pub(crate) legacy_policy: bool,

    /// Make the scheduler send whole nodes, for a plimsoll without a view of the cluster
    #[arg(long, env = "PLIMSOLL_FULL_NODES")]
    pub(crate) full_nodes: bool,

    /// Leave out bindVerb, for a plimsoll that does not bind
    #[arg(long, env = "PLIMSOLL_NO_BIND")]
    pub(crate) no_bind: bool,

    /// Let the scheduler place pods without plimsoll while it cannot be reached
    #[arg(long, env = "PLIMSOLL_IGNORABLE")]
    pub(crate) ignorable: bool,

    /// The weight of plimsoll's scores relative to the scheduler's own
    #[arg(long, env = "PLIMSOLL_WEIGHT", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) weight: u32,

    /// The scheduler's httpTimeout; keep it above --request-timeout of `serve`
    #[arg(long, env = "PLIMSOLL_HTTP_TIMEOUT", value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) http_timeout: Duration,

    /// The path of a kubeconfig to write into the file
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Output format; text is YAML
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}
