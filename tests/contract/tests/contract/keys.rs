//! Whatever the case of the wrapper's keys, the request means the same.

use std::time::{Duration, Instant};

use bytes::Bytes;
use plimsoll_contract::{
    recording::{STORIES, cluster, story},
    rules::{member, ssd},
    server::gateway,
};
use plimsoll_core::Roster;
use plimsoll_http::answer;
use proptest::prelude::*;

/// Every key of the wrappers; what is inside of Pod and Node has the API's own case.
const KEYS: [&str; 8] =
    ["NodeNameToMetaVictims", "NodeNameToVictims", "NumPDBViolations", "NodeNames", "Nodes", "Pods", "Pod", "UID"];

/// The body with the case of each wrapper key drawn from `bits`.
fn recased(body: &[u8], bits: u64) -> Bytes {
    let mut text = String::from_utf8(body.to_vec()).unwrap();
    for (at, key) in KEYS.iter().enumerate() {
        let bit = |place: usize| bits.rotate_left((7 * at + place) as u32) & 1 == 1;
        let case = |(place, c): (usize, char)| if bit(place) { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        let recased: String = key.chars().enumerate().map(case).collect();
        text = text.replace(&format!("\"{key}\":"), &format!("\"{recased}\":"));
    }
    text.into()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn recorded_requests_decode_alike_in_any_case(bits in any::<u64>(), at in any::<prop::sample::Index>()) {
        let (name, by_name) = *at.get(&STORIES);
        let gateway = gateway(Roster::of_root(vec![member("ssd", ssd())]));
        if by_name {
            gateway.set_cluster(std::sync::Arc::new(cluster(name).unwrap()));
        }
        let calls = story(name).unwrap();
        let call = at.get(&calls);
        let received = Instant::now() + Duration::from_secs(1);
        let path = format!("/{}", call.verb);
        let ours = answer(&gateway, &path, &call.request, received);
        let recased = answer(&gateway, &path, &recased(&call.request, bits), received);
        prop_assert_eq!(ours.body(), recased.body());
        prop_assert_eq!(ours.error.is_some(), call.verb == "bind");
    }
}

#[test]
fn all_lower_and_all_upper_keys_decode_alike() {
    for (name, by_name) in STORIES {
        let gateway = gateway(Roster::of_root(vec![member("ssd", ssd())]));
        if by_name {
            gateway.set_cluster(std::sync::Arc::new(cluster(name).unwrap()));
        }
        for call in story(name).unwrap() {
            let reply = |body: &Bytes| answer(&gateway, &format!("/{}", call.verb), body, Instant::now()).body();
            let ours = reply(&call.request);
            assert_eq!(reply(&recased(&call.request, 0)), ours, "{} in lower case", call.place());
            assert_eq!(reply(&recased(&call.request, u64::MAX)), ours, "{} in upper case", call.place());
        }
    }
}
