//! What the checker writes into trees.

use cel::{
    common::ast::{CallExpr, ComprehensionExpr, Expr, ListExpr, LiteralValue, operators},
    parser::Expression,
};

use crate::{
    functions::{KEYS, RANGE, SHOW},
    schema::LENIENT,
    source::parts_of,
    types::Ty,
};

/// The key of a read that never fails.
pub(super) fn lenient(key: &str) -> String {
    format!("{LENIENT}{key}")
}

/// Makes the second argument of an index such a key.
pub(super) fn make_lenient(key: &mut Expression) {
    if let Expr::Literal(LiteralValue::String(text)) = &key.expr {
        key.expr = Expr::Literal(LiteralValue::String(lenient(text).into()));
        return;
    }
    let prefix = node(Expr::Literal(LiteralValue::String(LENIENT.to_string().into())), key.id);
    let id = key.id;
    let key_itself = std::mem::take(key);
    *key = call(operators::ADD, None, vec![prefix, key_itself], id);
}

/// Has the steps of a loop counted, and makes it run over the keys of a map in their order.
pub(super) fn range_of(range: &mut Expression, is_list: bool) {
    let id = range.id;
    let whole = std::mem::take(range);
    *range = call(if is_list { RANGE } else { KEYS }, None, vec![whole], id);
}

/// Has a value formatted as Kubernetes does it.
pub(super) fn show(value: &mut Expression) {
    let id = value.id;
    let whole = std::mem::take(value);
    *value = call(SHOW, None, vec![whole], id);
}

/// What a sum of nothing is.
pub(super) fn zero(element: &Ty, id: u64) -> Expression {
    let literal = match element {
        Ty::Named("uint") => LiteralValue::UInt(0.into()),
        Ty::Named("double") => LiteralValue::Double(0.0.into()),
        Ty::Named("duration") => {
            let text = node(Expr::Literal(LiteralValue::String("0s".into())), id);
            return call("duration", None, vec![text], id);
        }
        _ => LiteralValue::Int(0.into()),
    };
    node(Expr::Literal(literal), id)
}

/// `target.optMap(variable, body)`: the body with the value, if there is one. `flat` if the body is an optional.
pub(super) fn opt_map(target: Expression, variable: String, body: Expression, flat: bool, id: u64) -> Expression {
    let method = |name: &str, on: Expression| call(name, Some(on), Vec::new(), id);
    let optional =
        |name: &str, arguments| call(name, Some(node(Expr::Ident("optional".to_owned()), id)), arguments, id);
    let nothing = || node(Expr::List(ListExpr::new(Vec::new())), id);
    let bound = node(
        Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: nothing(),
            iter_var: "#unused".to_owned(),
            iter_var2: None,
            accu_var: variable.clone(),
            accu_init: method("value", target.clone()),
            loop_cond: node(Expr::Literal(LiteralValue::Boolean(false.into())), id),
            loop_step: node(Expr::Ident(variable), id),
            result: body,
        })),
        id,
    );
    let mapped = if flat { bound } else { optional("of", vec![bound]) };
    call(operators::CONDITIONAL, None, vec![method("hasValue", target), mapped, optional("none", Vec::new())], id)
}

/// The number of nodes of a tree.
pub(super) fn nodes(tree: &Expression) -> usize {
    1 + parts_of(tree).into_iter().map(nodes).sum::<usize>()
}

fn node(expr: Expr, id: u64) -> Expression {
    Expression { id, expr }
}

fn call(name: &str, target: Option<Expression>, args: Vec<Expression>, id: u64) -> Expression {
    node(Expr::Call(CallExpr { func_name: name.to_owned(), target: target.map(Box::new), args }), id)
}
