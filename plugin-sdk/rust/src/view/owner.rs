/// The owner that controls a pod, and replaces it when it is gone: a `ReplicaSet`, a `Job`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Group and version, such as `apps/v1`: two groups may have one kind.
    pub api_version: &'a str,
    /// The kind, such as `ReplicaSet`.
    pub kind: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The UID of the object: another one of the same name has another.
    pub uid: &'a str,
}
