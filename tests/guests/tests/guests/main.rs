//! The policy host, tried by guests.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Cluster, Limits, Loader, Node, Pod, Verdict, View};
use plimsoll_wasm::{EngineConfig, WasmLoader};

#[test]
fn a_lifted_core_module_answers_filter() {
    let loader = WasmLoader::new(EngineConfig::default()).unwrap();
    let bytes = wat::parse_str(include_str!("../../guests/good/zone.wat")).unwrap();
    let policy = loader.load(&bytes).unwrap();
    let node = |name: &str, zone: &str| {
        Node::from_json(format!(r#"{{"metadata":{{"name":"{name}","labels":{{"zone":"{zone}"}}}}}}"#).into()).unwrap()
    };
    let nodes = vec![node("n0", "a"), node("n1", "b")];
    let cluster = Arc::new(Cluster::from_objects(nodes, vec![]));
    let view = View::new(Arc::new(Pod::default()), cluster, Arc::from([0, 1]), 0);
    let ask = Ask {
        policy: Arc::from("zone"),
        view: Arc::new(view),
        limits: Limits { deadline: Instant::now() + Duration::from_secs(1), memory: 64 << 20 },
    };
    let verdicts = policy.filter(&ask, &[0, 1]).unwrap();
    assert_eq!(verdicts, [Verdict::Fits, Verdict::Unschedulable("not in zone a".into())]);
}
