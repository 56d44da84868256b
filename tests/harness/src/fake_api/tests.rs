use super::*;
use crate::wait_until;

fn api() -> FakeApi {
    let node = json!({"metadata": {"name": "n1"}});
    let pods = (0..3).map(|at| json!({"metadata": {"name": format!("p{at}"), "namespace": "d", "uid": at.to_string()}, "spec": {"nodeName": "n1"}}));
    FakeApi::start([node], pods).unwrap()
}

fn get(api: &FakeApi, path: &str) -> Result<(u16, Value)> {
    let (status, text) = crate::get(api.port.address(), path)?;
    Ok((status, serde_json::from_str(&text).unwrap_or_default()))
}

#[test]
fn a_list_comes_in_pages_that_leave_nothing_out() {
    let api = api();
    let (mut names, mut next) = (vec![], String::new());
    loop {
        let (_, page) = get(&api, &format!("/api/v1/pods?limit=2&continue={next}")).unwrap();
        names.extend(page["items"].as_array().unwrap().iter().map(|pod| pod["metadata"]["name"].clone()));
        next = page["metadata"]["continue"].as_str().unwrap().to_owned();
        if next.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["p0", "p1", "p2"]);
}

#[test]
fn a_binding_is_carried_out_once_and_under_its_conditions() {
    let api = api();
    api.put_pod(json!({"metadata": {"name": "w", "namespace": "d", "uid": "w"}, "spec": {}}));
    let post = |uid: &str| {
        let binding =
            json!({"metadata": {"name": "w", "uid": uid, "annotations": {"a": "1"}}, "target": {"name": "n1"}});
        let mut client = crate::Client::connect(api.port.address()).unwrap();
        let path = "/api/v1/namespaces/d/pods/w/binding";
        client.ask(path, binding.to_string().as_bytes()).unwrap().0
    };
    assert_eq!((post("other"), post("w"), post("w")), (409, 201, 409));
    let pod = api.pod("d", "w").unwrap();
    assert_eq!((&pod["spec"]["nodeName"], &pod["metadata"]["annotations"]["a"]), (&json!("n1"), &json!("1")));
}

#[test]
fn it_fails_in_each_way_and_recovers_on_its_port() {
    let api = api();
    api.fail(500);
    assert_eq!(get(&api, "/api/v1/nodes").unwrap().0, 500);
    api.stop_listening();
    wait_until("connections to be refused", || TcpStream::connect(api.port.address()).is_err().then_some(())).unwrap();
    api.recover();
    wait_until("it to listen again", || get(&api, "/api/v1/nodes").ok().filter(|reply| reply.0 == 200)).unwrap();
}
