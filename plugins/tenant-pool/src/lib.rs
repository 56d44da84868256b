//! Keeps a namespace's pods on the node pool of its tenant, and all others out of it.

use std::collections::BTreeMap;

use plimsoll_policy::prelude::*;

/// The settings: which pool belongs to which namespace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantPool {
    /// The node label that names the pool.
    #[serde(default = "default_label")]
    label: String,
    /// The pool of each namespace that has one.
    pools: BTreeMap<String, String>,
    /// Pools that every namespace may use.
    #[serde(default)]
    shared: Vec<String>,
}

fn default_label() -> String {
    "example.com/pool".to_owned()
}

impl TenantPool {
    fn is_shared(&self, pool: &str) -> bool {
        self.shared.iter().any(|shared| shared == pool)
    }
}

impl Filter for TenantPool {
    fn filter(&self, pod: &Pod, node: &Node) -> Verdict {
        let pool = node.label(&self.label);
        if pool.is_some_and(|pool| self.is_shared(pool)) {
            return Verdict::Fits;
        }
        match (self.pools.get(pod.namespace()), pool) {
            (Some(own), Some(pool)) if own == pool => Verdict::Fits,
            (Some(_), _) => Verdict::unresolvable("node is outside the namespace's pool"),
            (None, Some(pool)) if self.pools.values().any(|owned| owned == pool) => {
                Verdict::unresolvable("node is in another tenant's pool")
            }
            (None, _) => Verdict::Fits,
        }
    }
}

impl Validate for TenantPool {
    fn validate(&self) -> Result<(), String> {
        match self.pools.iter().find(|(_, pool)| self.is_shared(pool)) {
            Some((namespace, pool)) => {
                Err(format!("pools.{namespace}: the pool '{pool}' is shared, so it is no one's"))
            }
            None => Ok(()),
        }
    }
}

export!(TenantPool: filter, validate);

#[cfg(test)]
mod tests;
