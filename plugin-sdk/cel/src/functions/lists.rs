//! Lists, as `k8s.io/apiserver/pkg/cel/library/lists.go`.

use std::{cell::Cell, cmp::Ordering};

use cel::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{CelList, CelString, DYN_TYPE, LIST_TYPE, MAP_TYPE},
        value::{CowVal, Val},
    },
};

use super::answer::{Answer, Args, Outcome, failed, missing};
use crate::values::world::OBJECTS;

/// The keys of a map, in their order: a loop over a map must run in the same order each time. No expression can name it.
pub(crate) const KEYS: &str = "@keys";

/// The list that a loop runs over, with its steps counted.
pub(crate) const RANGE: &str = "@range";

/// Maximum steps of all loops of one evaluation. A deadline would not say which loop it was.
const MAX_STEPS: usize = 20_000;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Begins to count anew.
pub(crate) fn begin() {
    STEPS.set(0);
}

/// Whether loops had too many steps.
pub(crate) fn is_of_steps(error: &ExecutionError) -> bool {
    matches!(error, ExecutionError::FunctionError { function, .. } if function == RANGE)
}

fn count(steps: usize) -> Result<(), ExecutionError> {
    let total = STEPS.get().saturating_add(steps);
    STEPS.set(total);
    if total > MAX_STEPS { Err(failed(RANGE, "its loops have more than 20,000 steps")) } else { Ok(()) }
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_overload(RANGE, "range_of_list", vec![DYN_TYPE], |mut args| {
        let size = args[0].as_sizer().map_or(0, |list| *list.size().inner());
        count(usize::try_from(size).unwrap_or(0))?;
        Ok(args.swap_remove(0))
    })?;
    env.add_overload(KEYS, "keys_of_map", vec![MAP_TYPE], |args| keys(&args))?;
    env.add_overload(KEYS, "keys_of_texts", vec![OBJECTS[5].to_owned()], |args| keys(&args))?;
    env.add_member_overload("isSorted", "list_is_sorted", LIST_TYPE, vec![], |args| {
        let mut sorted = true;
        for pair in items(&args)?.windows(2) {
            sorted &= compare(pair[0], pair[1])?.is_le();
        }
        sorted.answer("isSorted")
    })?;
    env.add_member_overload("min", "list_min", LIST_TYPE, vec![], |args| extreme(&args, Ordering::Less))?;
    env.add_member_overload("max", "list_max", LIST_TYPE, vec![], |args| extreme(&args, Ordering::Greater))?;
    env.add_member_overload("sum", "list_sum", LIST_TYPE, vec![DYN_TYPE], |args| sum(&args))?;
    env.add_member_overload("indexOf", "list_index_of", LIST_TYPE, vec![DYN_TYPE], |args| {
        let found = items(&args)?.iter().position(|item| item.equals(args[1].as_ref()));
        found.map_or(-1, |index| index as i64).answer("indexOf")
    })?;
    env.add_member_overload("lastIndexOf", "list_last_index_of", LIST_TYPE, vec![DYN_TYPE], |args| {
        let found = items(&args)?.iter().rposition(|item| item.equals(args[1].as_ref()));
        found.map_or(-1, |index| index as i64).answer("lastIndexOf")
    })?;
    env.add_member_overload("includes", "list_includes", LIST_TYPE, vec![DYN_TYPE], |args| {
        items(&args)?.iter().any(|item| item.equals(args[1].as_ref())).answer("includes")
    })?;
    env.add_member_overload("includes", "dyn_includes", DYN_TYPE, vec![DYN_TYPE], |args| {
        args[0].equals(args[1].as_ref()).answer("includes")
    })
}

/// The elements of the list that a function is called on.
fn items<'a, 'v>(args: &'a [CowVal<'_, 'v>]) -> Result<Vec<&'a (dyn Val + 'v)>, ExecutionError> {
    let list = args.first().and_then(|list| list.as_iterable());
    let mut iterator = list.ok_or_else(|| missing("list"))?.iter();
    Ok(std::iter::from_fn(|| iterator.next()).collect())
}

fn compare(one: &dyn Val, other: &dyn Val) -> Result<Ordering, ExecutionError> {
    one.as_comparer().ok_or_else(|| failed("list", "the elements have no order"))?.compare(other)
}

fn extreme<'b, 'v>(args: &Args<'b, 'v>, wanted: Ordering) -> Outcome<'b, 'v> {
    let mut found: Option<&dyn Val> = None;
    for item in items(args)? {
        if found.is_none_or(|best| compare(item, best) == Ok(wanted)) {
            found = Some(item);
        }
    }
    found.map(|found| CowVal::Owned(found.clone_as_boxed())).ok_or_else(|| failed("list", "the list is empty"))
}

/// The checker adds what a sum of nothing is.
fn sum<'b, 'v>(args: &Args<'b, 'v>) -> Outcome<'b, 'v> {
    let mut total = args[1].clone().into_owned();
    for item in items(args)? {
        total = total.as_adder().ok_or_else(|| missing("sum"))?.add(item)?.into_owned();
    }
    Ok(CowVal::Owned(total))
}

fn keys<'b, 'v>(args: &Args<'b, 'v>) -> Outcome<'b, 'v> {
    let mut keys: Vec<Box<dyn Val + 'v>> = items(args)?.into_iter().map(<dyn Val>::clone_as_boxed).collect();
    count(keys.len())?;
    keys.sort_by(|one, other| match (one.downcast_ref::<CelString>(), other.downcast_ref::<CelString>()) {
        (Some(one), Some(other)) => one.cmp(other),
        _ => compare(one.as_ref(), other.as_ref()).unwrap_or(Ordering::Equal),
    });
    Ok(CowVal::owned(CelList::from(keys)))
}
