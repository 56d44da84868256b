//! `plimsoll scheduler-config`.

use std::{path::PathBuf, time::Duration};

use super::{
    EngineArgs, FineScores, OutputFormat,
    values::{duration, fine_scores, url},
};

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct SchedulerConfigArgs {
    /// The directory of policies: one extender for each group, with the verbs that its policies have
    #[arg(long, env = "PLIMSOLL_POLICIES", value_name = "DIR")]
    pub(crate) policies: PathBuf,

    /// Where kube-scheduler reaches plimsoll
    #[arg(long, env = "PLIMSOLL_URL", value_name = "URL", default_value = "http://127.0.0.1:8888", value_parser = url)]
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

    /// Make the scheduler send whole nodes, for a plimsoll without a view of the cluster
    #[arg(long, env = "PLIMSOLL_FULL_NODES")]
    pub(crate) full_nodes: bool,

    /// Leave out bindVerb, for a plimsoll that does not bind
    #[arg(long, env = "PLIMSOLL_NO_BIND")]
    pub(crate) no_bind: bool,

    /// Let the scheduler place pods without plimsoll while it cannot be reached
    #[arg(long, env = "PLIMSOLL_IGNORABLE")]
    pub(crate) ignorable: bool,

    /// Preempt through an extender apart, so that pods of a group are evicted together: for the gate `GenericWorkload`
    #[arg(long, env = "PLIMSOLL_POD_GROUPS")]
    pub(crate) pod_groups: bool,

    /// The weight of plimsoll's scores relative to the scheduler's own
    #[arg(long, env = "PLIMSOLL_WEIGHT", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) weight: u32,

    /// Have a group answer with fine scores instead of 0 to 10, so that a difference of 1 in 100 decides; `/` is the root.
    /// `GROUP=name` also prefers the smallest name among equal nodes, `GROUP=spread` spreads pods over them. The printed
    /// profile has matching weights for the scheduler's own plugins, and must be used with it; may be given more than once
    #[arg(
        long,
        env = "PLIMSOLL_FINE_SCORES",
        value_name = "GROUP[=TIE-BREAK]",
        value_delimiter = ',',
        value_parser = fine_scores
    )]
    pub(crate) fine_scores: Vec<FineScores>,

    /// The scheduler's httpTimeout; keep it above --request-timeout of `serve`
    #[arg(long, env = "PLIMSOLL_HTTP_TIMEOUT", value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) http_timeout: Duration,

    /// The path of a kubeconfig on the scheduler's machine, to write into the file
    #[arg(long, env = "PLIMSOLL_SCHEDULER_KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Output format; text is YAML
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}
