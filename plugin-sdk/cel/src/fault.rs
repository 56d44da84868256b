//! Which part of an expression failed.

use cel::{
    Context, ExecutionError, Value,
    common::{
        ast::{Expr, operators},
        types::CelString,
    },
    parser::Expression,
};

use crate::{
    functions,
    problem::Problem,
    source::{Source, Span, parts_of},
};

/// Says which expression failed, which part of it, and why.
pub(crate) fn describe(sources: &[Source], tree: &Expression, context: &Context, error: &ExecutionError) -> String {
    let at = |id: u64| Span::of(id).and_then(|span| sources.get(span.source()).map(|source| (source, span)));
    let (part, error) = culprit(tree, context).unwrap_or((tree, error.clone()));
    let Some((source, span)) = at(part.id).or_else(|| at(tree.id)) else { return error.to_string() };
    let (line, column) = source.position(span);
    let written = |part: &Expression| at(part.id).map(|(source, span)| source.text_of(span));
    let why = unfit_text(part, context, written).unwrap_or_else(|| text_of(&error));
    let text = format!("`{}`: {why}", source.text_of(span));
    Problem { pointer: source.pointer.clone(), line, column, text }.to_string()
}

/// What is wrong with a text that a function cannot read, and how to keep it away: most are labels, which may be absent.
fn unfit_text<'s>(
    part: &Expression,
    context: &Context,
    written: impl Fn(&Expression) -> Option<&'s str>,
) -> Option<String> {
    let Expr::Call(call) = &part.expr else { return None };
    let argument = call.args.first()?;
    let value = Value::resolve_val(argument, context).ok()?;
    let (text, argument) = (value.downcast_ref::<CelString>()?.inner(), written(argument)?);
    let name = call.func_name.trim_start_matches('@').split('/').next()?;
    let guard = match name {
        "quantity" => format!("isQuantity({argument})"),
        "semver" if call.args.len() == 2 => format!("isSemver({argument}, true)"),
        "semver" => format!("isSemver({argument})"),
        "ip" => format!("isIP({argument})"),
        "int" | "uint" | "double" | "bool" | "duration" | "timestamp" if text.is_empty() => {
            format!("{argument} != \"\"")
        }
        "int" | "uint" | "double" => format!("{argument}.matches(\"^[0-9]+$\")"),
        _ => return None,
    };
    let what =
        if text.is_empty() { "the text is empty or absent".to_owned() } else { format!("{text:?} is no {name}") };
    Some(format!("{what}; ask `{guard} && …` first"))
}

fn text_of(error: &ExecutionError) -> String {
    match error {
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::NoSuchKey(key) => format!("it has no `{key}`"),
        other => other.to_string(),
    }
}

/// The innermost part that fails, found by evaluating the parts in their order. Values are the same as before, since the
/// host has them.
fn culprit<'e>(part: &'e Expression, context: &Context) -> Option<(&'e Expression, ExecutionError)> {
    functions::begin();
    let own = Value::resolve_val(part, context).err()?;
    let inner = match &part.expr {
        Expr::Call(call) if call.func_name == operators::CONDITIONAL && call.args.len() == 3 => {
            culprit(&call.args[0], context).or_else(|| {
                call.args[1..].iter().filter_map(|branch| culprit(branch, context)).find(|(_, error)| *error == own)
            })
        }
        Expr::Comprehension(all) => culprit(&all.iter_range, context).or_else(|| {
            let range = Value::resolve_val(&all.iter_range, context).ok()?;
            let mut scope = context.new_inner_scope();
            scope.add_variable_as_val(&all.accu_var, Value::resolve_val(&all.accu_init, context).ok()?.into_owned());
            let mut items = range.as_iterable()?.iter();
            let looked_at = if functions::is_of_steps(&own) { 1 } else { usize::MAX };
            for item in std::iter::from_fn(|| items.next()).take(looked_at) {
                scope.add_variable_as_val(&all.iter_var, item.clone_as_boxed());
                if let Some(found) = culprit(&all.loop_step, &scope) {
                    return Some(found);
                }
            }
            None
        }),
        _ => parts_of(part).into_iter().find_map(|part| culprit(part, context)).filter(is_written),
    };
    Some(inner.unwrap_or((part, own)))
}

/// Whether a part has a place of its own.
fn is_written((part, _): &(&Expression, ExecutionError)) -> bool {
    Span::of(part.id).is_some()
}
