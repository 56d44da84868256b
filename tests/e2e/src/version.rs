//! The version of Kubernetes that the control plane has, and what differs between the versions.

use std::{process::Command, sync::LazyLock};

use plimsoll_harness::report_skipped;

use crate::component::program;

/// What a minor version of Kubernetes is started with: the newest ways of scheduling, which are off by default.
pub(crate) struct Features {
    minor: u32,
    /// Feature gates of the API server and of kube-scheduler.
    gates: &'static str,
    /// The API of groups of pods.
    groups: Option<&'static str>,
}

const FEATURES: [Features; 5] = [
    Features { minor: 33, gates: "", groups: None },
    Features { minor: 34, gates: "SchedulerAsyncAPICalls=true", groups: None },
    Features {
        minor: 35,
        gates: "SchedulerAsyncAPICalls=true,GenericWorkload=true,GangScheduling=true",
        groups: Some("scheduling.k8s.io/v1alpha1"),
    },
    Features {
        minor: 36,
        gates: "SchedulerAsyncAPICalls=true,GenericWorkload=true,GangScheduling=true",
        groups: Some("scheduling.k8s.io/v1alpha2"),
    },
    Features {
        minor: 37,
        gates: "SchedulerAsyncAPICalls=true,GenericWorkload=true",
        groups: Some("scheduling.k8s.io/v1beta1"),
    },
];

/// The minor version of the control plane: 37 of `v1.37.2`.
pub fn minor() -> u32 {
    static MINOR: LazyLock<Option<u32>> = LazyLock::new(|| {
        let output = Command::new(program("kube-scheduler")).arg("--version").output().ok()?;
        // `Kubernetes v1.37.2`
        String::from_utf8(output.stdout).ok()?.split('.').nth(1)?.parse().ok()
    });
    MINOR.expect("kube-scheduler says its version: run tests/e2e/control-plane/build")
}

/// Skips the running test, which then returns, on a version before `first`; `lacks` says what that version lacks.
pub fn skip_before(first: u32, lacks: &str) -> bool {
    let is_before = minor() < first;
    if is_before {
        report_skipped(&format!("Kubernetes before 1.{first} {lacks}"));
    }
    is_before
}

// === impl Features ===

impl Features {
    /// Those of the control plane's version; a newer one has those of the newest that is known.
    pub(crate) fn of_control_plane() -> &'static Self {
        let minor = minor();
        FEATURES.iter().rfind(|features| features.minor <= minor).unwrap_or(&FEATURES[0])
    }

    /// The arguments of kube-scheduler.
    pub(crate) fn scheduler_args(&self) -> Vec<String> {
        vec![format!("--feature-gates={}", self.gates)]
    }

    /// The arguments of the API server.
    pub(crate) fn api_server_args(&self) -> Vec<String> {
        let groups = self.groups.map(|api| format!("--runtime-config={api}=true"));
        self.scheduler_args().into_iter().chain(groups).collect()
    }
}
