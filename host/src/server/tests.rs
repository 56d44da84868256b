//! The end of a server.

use clap::Parser;
use plimsoll_cluster::LeadershipState;
use plimsoll_harness::{FakeApi, tempdir, wait_until};
use serde_json::json;

use super::*;
use crate::{
    args::{Args, Command},
    runtimes::Runtimes,
};

fn holder(api: &FakeApi) -> Option<String> {
    let holder = api.lease()?["spec"]["holderIdentity"].as_str()?.to_owned();
    Some(holder).filter(|holder| !holder.is_empty())
}

#[test]
fn a_server_whose_listener_fails_gives_up_the_lease() {
    let (directory, api) = (tempdir().unwrap(), FakeApi::start([json!({"metadata": {"name": "n1"}})], []).unwrap());
    let (policies, kubeconfig) = (directory.path().to_str().unwrap(), api.kubeconfig());
    let args = ["plimsoll", "serve", "--no-compile-cache", "--allow-empty", "--policies", policies, "--kubeconfig"];
    let more = [
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--lease-namespace",
        "default",
        "--identity",
        "me",
        "--lease-duration",
        "4s",
    ];
    let args = args.into_iter().chain([kubeconfig.to_str().unwrap()]).chain(more);
    let Command::Serve(args) = Args::try_parse_from(args).unwrap().command else { panic!("it is serve") };
    let runtimes = Runtimes::start(64).unwrap();
    runtimes.block_on(async {
        let mut server = Server::start(*args, runtimes.wire()).await.unwrap();
        // It counts only some time after it was made.
        let leadership = server.leadership.clone().unwrap();
        let leads = || matches!(leadership.leadership_state(), LeadershipState::Leads(_)).then_some(());
        tokio::task::block_in_place(|| wait_until("it to lead", leads)).unwrap();
        assert!(holder(&api).is_some_and(|holder| holder.starts_with("me_")));
        server.wire.abort();
        let error = server.failed().await;
        assert!(error.to_string().contains("the extender listener crashed"), "{error:#}");
        server.give_up().await;
        assert_eq!(holder(&api), None, "another replica need not wait");
    });
}

#[tokio::test]
async fn a_port_in_use_is_an_error_that_says_how_to_get_a_free_one() {
    let first = bind("--listen", ([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = first.local_addr().unwrap();
    let error = bind("--admin", address).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot listen on {address} (--admin): Address already in use")), "{error}");
    assert!(error.ends_with(OTHER_PORT), "{error}");
}
