//! For the tests: each pod gets a number that no other pod of the cluster has, from this policy or from another one that
//! writes its own annotation.

use plimsoll_policy::prelude::*;

/// Two annotations with numbers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// The annotation that this policy writes.
    own: String,
    /// The annotation of the other policy.
    other: String,
    /// The numbers are from 0 to one below this.
    most: u32,
}

impl Bind for Numbers {
    fn bind(&self, _pod: &Pod, node: &Node) -> Result<BindMetadata, NotBound> {
        let is_free = |number: &String| {
            let holders = |key| node.cluster().count(Selector::all().annotation(key, number));
            [&self.own, &self.other].into_iter().all(|key| holders(key) == Some(0))
        };
        let free = (0..self.most).map(|number| number.to_string()).find(is_free);
        let number = free.ok_or_else(|| NotBound::refused("no number is free"))?;
        Ok(BindMetadata::new().annotation(&*self.own, number))
    }
}

export!(Numbers: bind);
