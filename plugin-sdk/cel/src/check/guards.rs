//! What a condition says about values that may be absent: `has(a.b)`, `k in m`.

use cel::{
    common::ast::{Expr, operators},
    parser::Expression,
};

use super::Checker;

// === impl Checker ===

impl Checker {
    /// Checks what is only evaluated where a condition is `outcome`.
    pub(super) fn guarded<T>(
        &mut self,
        condition: &Expression,
        outcome: bool,
        check: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.guards.len();
        let guarded = self.guarded_by(condition, outcome);
        self.guards.extend(guarded);
        let checked = check(self);
        self.guards.truncate(before);
        checked
    }

    /// The parts that are there wherever the condition is `outcome`, as they are written.
    fn guarded_by(&self, condition: &Expression, outcome: bool) -> Vec<String> {
        match &condition.expr {
            Expr::Select(select) if select.test && outcome => {
                vec![format!("{}.{}", self.text(&select.operand), select.field)]
            }
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::LOGICAL_NOT, [inner]) => self.guarded_by(inner, !outcome),
                (operators::LOGICAL_AND, [one, other]) if outcome => self.of_both(one, other, outcome),
                (operators::LOGICAL_OR, [one, other]) if !outcome => self.of_both(one, other, outcome),
                (operators::IN, [key, map]) if outcome => vec![format!("{}[{}]", self.text(map), self.text(key))],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn of_both(&self, one: &Expression, other: &Expression, outcome: bool) -> Vec<String> {
        let mut all = self.guarded_by(one, outcome);
        all.extend(self.guarded_by(other, outcome));
        all
    }
}
