//! A small world: two nodes by name, and the recorded extender's rule.

use std::sync::Arc;

use plimsoll_contract::{
    rules::{Fake, member, ssd},
    server::{Server, gateway},
};
use plimsoll_core::{Cluster, Member, Node, Roster};
use plimsoll_http::WireConfig;

/// A request by name that is decided: `node-00000` has an ssd, `node-00001` has none.
pub(crate) const BY_NAME: &str =
    r#"{"Pod":{"metadata":{"labels":{"needs":"ssd"}}},"Nodes":null,"NodeNames":["node-00000","node-00001"]}"#;

/// The decision about it.
pub(crate) const BY_NAME_FILTERED: &str = concat!(
    r#"{"Nodes":null,"NodeNames":["node-00000"],"FailedNodes":{},"#,
    r#""FailedAndUnresolvableNodes":{"node-00001":"ssd: node has no ssd"},"Error":""}"#
);

/// Node `node-0000N` with this disk.
pub(crate) fn node_json(number: usize, disk: &str) -> String {
    format!(r#"{{"metadata":{{"name":"node-0000{number}","labels":{{"disktype":"{disk}"}}}}}}"#)
}

pub(crate) fn cluster() -> Arc<Cluster> {
    let node = |(number, disk)| Node::from_json(node_json(number, disk).into()).unwrap();
    Arc::new(Cluster::from_objects([(0, "ssd"), (1, "hdd")].map(node).into(), vec![]))
}

/// A server for the world with the recorded extender's rule.
pub(crate) async fn server(config: WireConfig) -> Server {
    server_with(vec![member("ssd", ssd())], config).await
}

/// A server for the world with one policy.
pub(crate) async fn server_of(policy: Fake, config: WireConfig) -> Server {
    server_with(vec![member("only", policy)], config).await
}

/// A server for the world with these policies.
pub(crate) async fn server_with(members: Vec<Arc<Member>>, config: WireConfig) -> Server {
    let gateway = gateway(Roster::of_root(members));
    gateway.set_cluster(cluster());
    Server::start(gateway, config).await.unwrap()
}
