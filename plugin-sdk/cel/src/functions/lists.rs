//! Lists, as `k8s.io/apiserver/pkg/cel/library/lists.go`.

use std::cmp::Ordering;

use cel::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{CelBool, CelInt, CelList, CelString, DYN_TYPE, LIST_TYPE, MAP_TYPE},
        value::{CowVal, Val},
    },
};

use super::Outcome;
use crate::values::world::OBJECTS;

/// The keys of a map, in their order: a loop over a map must run in the same order each time. No expression can name it.
pub(crate) const KEYS: &str = "@keys";

type Args<'b, 'v> = Vec<CowVal<'b, 'v>>;
type Result<'b, 'v> = Outcome<CowVal<'b, 'v>>;

pub(super) fn declare(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    env.add_overload(KEYS, "keys_of_map", vec![MAP_TYPE], |args| keys(&args))?;
    env.add_overload(KEYS, "keys_of_texts", vec![OBJECTS[8].to_owned()], |args| keys(&args))?;
    env.add_member_overload("isSorted", "list_is_sorted", LIST_TYPE, vec![], |args| {
        let items = items(&args)?;
        let mut sorted = true;
        for pair in items.windows(2) {
            sorted &= compare(pair[0], pair[1])?.is_le();
        }
        Ok(CowVal::owned(CelBool::from(sorted)))
    })?;
    env.add_member_overload("min", "list_min", LIST_TYPE, vec![], |args| extreme("min", &args, Ordering::Less))?;
    env.add_member_overload("max", "list_max", LIST_TYPE, vec![], |args| extreme("max", &args, Ordering::Greater))?;
    env.add_member_overload("sum", "list_sum", LIST_TYPE, vec![DYN_TYPE], |args| sum(&args))?;
    env.add_member_overload("indexOf", "list_index_of", LIST_TYPE, vec![DYN_TYPE], |args| {
        Ok(position(items(&args)?.iter().position(|item| item.equals(args[1].as_ref()))))
    })?;
    env.add_member_overload("lastIndexOf", "list_last_index_of", LIST_TYPE, vec![DYN_TYPE], |args| {
        Ok(position(items(&args)?.iter().rposition(|item| item.equals(args[1].as_ref()))))
    })?;
    env.add_member_overload("includes", "list_includes", LIST_TYPE, vec![DYN_TYPE], |args| {
        let is_there = items(&args)?.iter().any(|item| item.equals(args[1].as_ref()));
        Ok(CowVal::owned(CelBool::from(is_there)))
    })?;
    env.add_member_overload("includes", "dyn_includes", DYN_TYPE, vec![DYN_TYPE], |args| {
        Ok(CowVal::owned(CelBool::from(args[0].equals(args[1].as_ref()))))
    })
}

/// The elements of the list that a function is called on.
fn items<'a, 'v>(args: &'a [CowVal<'_, 'v>]) -> Outcome<Vec<&'a (dyn Val + 'v)>> {
    let list = args.first().and_then(|list| list.as_iterable());
    let mut iterator =
        list.ok_or_else(|| ExecutionError::function_error("list", "it is called on another value"))?.iter();
    let mut items = Vec::new();
    while let Some(item) = iterator.next() {
        items.push(item);
    }
    Ok(items)
}

fn compare(one: &dyn Val, other: &dyn Val) -> Outcome<Ordering> {
    let comparer =
        one.as_comparer().ok_or_else(|| ExecutionError::function_error("list", "the elements have no order"))?;
    comparer.compare(other)
}

fn extreme<'b, 'v>(name: &str, args: &Args<'b, 'v>, wanted: Ordering) -> Result<'b, 'v> {
    let mut found: Option<&dyn Val> = None;
    for item in items(args)? {
        let is_better = match found {
            Some(best) => compare(item, best)? == wanted,
            None => true,
        };
        if is_better {
            found = Some(item);
        }
    }
    let found = found.ok_or_else(|| ExecutionError::function_error(name, "the list is empty"))?;
    Ok(CowVal::Owned(found.clone_as_boxed()))
}

/// The checker adds what a sum of nothing is.
fn sum<'b, 'v>(args: &Args<'b, 'v>) -> Result<'b, 'v> {
    let mut total = args[1].clone().into_owned();
    for item in items(args)? {
        let adder =
            total.as_adder().ok_or_else(|| ExecutionError::function_error("sum", "the elements cannot be added"))?;
        total = adder.add(item)?.into_owned();
    }
    Ok(CowVal::Owned(total))
}

fn position<'b, 'v>(index: Option<usize>) -> CowVal<'b, 'v> {
    CowVal::owned(CelInt::from(index.map_or(-1, |index| index as i64)))
}

fn keys<'b, 'v>(args: &Args<'b, 'v>) -> Result<'b, 'v> {
    let mut keys: Vec<Box<dyn Val + 'v>> = items(args)?.into_iter().map(<dyn Val>::clone_as_boxed).collect();
    keys.sort_by(|one, other| match (one.downcast_ref::<CelString>(), other.downcast_ref::<CelString>()) {
        (Some(one), Some(other)) => one.cmp(other),
        _ => compare(one.as_ref(), other.as_ref()).unwrap_or(Ordering::Equal),
    });
    Ok(CowVal::owned(CelList::from(keys)))
}
