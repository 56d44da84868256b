//! The cluster that a command asks about: named by flags, or found in the environment.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Result, bail};
use plimsoll_cluster::{ApiServer, Credentials};
use plimsoll_core::Cluster;

use super::origin::OriginSource;
use crate::{args::ClusterArgs, output, sample};

/// Where the cluster is to come from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Sample,
    Snapshot(PathBuf),
    ApiServer(Credentials),
}

/// The parts of the environment that select a cluster.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Environment {
    /// `$KUBECONFIG` names a file.
    kubeconfig: bool,
    in_pod: bool,
    service_account: bool,
}

// === impl Choice ===

impl Choice {
    pub(super) fn of(args: &ClusterArgs, environment: Environment) -> Result<Self> {
        if args.sample {
            return Ok(Self::Sample);
        }
        if let Some(snapshot) = &args.snapshot {
            return Ok(Self::Snapshot(snapshot.clone()));
        }
        match &args.kubeconfig {
            Some(kubeconfig) => Ok(Self::ApiServer(Credentials::File(kubeconfig.clone()))),
            None if environment.kubeconfig => Ok(Self::ApiServer(Credentials::Environment)),
            None if environment.service_account => Ok(Self::ApiServer(Credentials::ServiceAccount)),
            None => bail!(
                "which cluster? --snapshot FILE takes nodes and pods from a file (`kubectl get nodes,pods -A -o json`), \
                 --kubeconfig FILE or $KUBECONFIG asks the API server, --sample takes an invented cluster{}",
                if environment.in_pod { "; this pod has no service account to ask with" } else { "" }
            ),
        }
    }

    pub(super) fn read(self, args: &ClusterArgs) -> Result<(Arc<Cluster>, OriginSource)> {
        match self {
            Self::Sample => Ok((Arc::new(sample::cluster()), OriginSource::Sample)),
            Self::Snapshot(file) => {
                Ok((Arc::new(plimsoll_cluster::read_snapshot(&file)?), OriginSource::Snapshot(file)))
            }
            Self::ApiServer(credentials) => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async {
                    let api = ApiServer::connect_with(&credentials, args.context.as_deref())?;
                    let cluster = plimsoll_cluster::list_once(&api, args.timeout, output::remark).await?;
                    Ok((cluster, OriginSource::ApiServer { url: api.url().to_owned() }))
                })
            }
        }
    }
}

// === impl Environment ===

impl Environment {
    pub(super) fn look() -> Self {
        Self {
            kubeconfig: Credentials::is_in_environment(),
            in_pod: ApiServer::is_in_pod(),
            service_account: ApiServer::is_in_cluster(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn choose(args: &ClusterArgs, environment: Environment) -> Result<Choice, String> {
        Choice::of(args, environment).map_err(|error| error.to_string())
    }

    #[test]
    fn the_cluster_is_the_one_that_was_named_or_the_surroundings_have_and_never_an_invented_one() {
        let none = ClusterArgs {
            snapshot: None,
            facts_snapshot: None,
            kubeconfig: None,
            context: None,
            sample: false,
            timeout: Duration::MAX,
        };
        let everything = Environment { kubeconfig: true, in_pod: true, service_account: true };
        let file = PathBuf::from("file");
        let named = [
            (ClusterArgs { sample: true, ..none.clone() }, Choice::Sample),
            (ClusterArgs { snapshot: Some(file.clone()), ..none.clone() }, Choice::Snapshot(file.clone())),
            (
                ClusterArgs { kubeconfig: Some(file.clone()), ..none.clone() },
                Choice::ApiServer(Credentials::File(file)),
            ),
        ];
        for (args, expected) in named {
            assert_eq!(choose(&args, everything), Ok(expected));
        }
        assert_eq!(choose(&none, everything), Ok(Choice::ApiServer(Credentials::Environment)));
        let pod = Environment { kubeconfig: false, ..everything };
        assert_eq!(choose(&none, pod), Ok(Choice::ApiServer(Credentials::ServiceAccount)));
        let error = choose(&none, Environment { service_account: false, ..pod }).unwrap_err();
        for choice in ["--snapshot FILE", "--kubeconfig FILE", "--sample", "no service account"] {
            assert!(error.contains(choice), "{error}");
        }
        assert!(choose(&none, Environment::default()).is_err());
    }
}
