//! The two tables of transitions.

use super::*;

type State = InForce<&'static str>;

fn off(before: State) -> State {
    InForce::Off { before: Box::new(before) }
}

fn on_trial(new: &'static str, good: &'static str) -> State {
    InForce::OnTrial { new, good }
}

#[test]
fn what_is_in_force_follows_the_table() {
    use Event::{Failed, FilesBack, FilesGone, Loaded, Proved, Restored, SwitchedOff, SwitchedOn};
    use InForce::{Absent, Awaited, Vanished};
    let good = || InForce::Good("good");
    let table: [(State, Event<&str>, State); 32] = [
        // The first version, and a later one.
        (Absent, Loaded("new"), InForce::Good("new")),
        (Awaited, Loaded("new"), InForce::Good("new")),
        (Awaited, Restored("old"), InForce::Good("old")),
        (good(), Loaded("new"), on_trial("new", "good")),
        // A trial ends in one of two ways, and the next version takes the place of the one on trial.
        (on_trial("new", "good"), Proved, InForce::Good("new")),
        (on_trial("new", "good"), Failed, good()),
        (on_trial("new", "good"), Loaded("newer"), on_trial("newer", "good")),
        // Switched off, whatever was before, and on again: then the last good version answers until the files are read.
        (Absent, SwitchedOff, off(Absent)),
        (Awaited, SwitchedOff, off(Awaited)),
        (good(), SwitchedOff, off(good())),
        (on_trial("new", "good"), SwitchedOff, off(good())),
        (Vanished("good"), SwitchedOff, off(good())),
        (off(good()), SwitchedOff, off(good())),
        (off(Absent), SwitchedOn, Absent),
        (off(Awaited), SwitchedOn, Awaited),
        (off(good()), SwitchedOn, good()),
        // Files that vanish leave the rule in force.
        (good(), FilesGone, Vanished("good")),
        (on_trial("new", "good"), FilesGone, Vanished("new")),
        (Vanished("good"), FilesGone, Vanished("good")),
        (Vanished("good"), FilesBack, good()),
        (Vanished("good"), Loaded("new"), on_trial("new", "good")),
        (Awaited, FilesGone, Awaited),
        // Outcomes that come too late.
        (Absent, Restored("old"), Absent),
        (good(), Restored("old"), good()),
        (good(), Proved, good()),
        (good(), Failed, good()),
        (off(good()), Loaded("new"), off(good())),
        (off(Awaited), Restored("old"), off(Awaited)),
        (off(good()), Failed, off(good())),
        (good(), FilesBack, good()),
        (on_trial("new", "good"), FilesBack, on_trial("new", "good")),
        (good(), SwitchedOn, good()),
    ];
    for (state, event, next) in table {
        assert_eq!(state.clone().next(event.clone()), next, "{state:?}, {event:?}");
    }
}

#[test]
fn what_is_known_of_the_files_follows_the_table() {
    use Files::{AsRead, Loading, Unread};
    use FilesEvent::{Changing, Final, Moved, Ordered, Read};
    let now = Instant::now();
    let busy = || FileRefusal::new("busy").transient_if(true);
    let refused = |refusal: FileRefusal, tries, pause: Option<u64>, is_final| Files::Refused {
        refusal,
        tries,
        retry: pause.map(|pause| now + Duration::from_secs(pause)),
        is_final,
    };
    let bad = |is_final| refused(FileRefusal::new("bad"), 1, None, is_final);
    let table: [(Files, FilesEvent, Files); 19] = [
        (Unread, Ordered(7), Loading { job: 7, tries: 0 }),
        (AsRead, Ordered(7), Loading { job: 7, tries: 0 }),
        (Loading { job: 7, tries: 0 }, Read, AsRead),
        (Loading { job: 7, tries: 0 }, Changing, Unread),
        (Loading { job: 7, tries: 0 }, FilesEvent::Refused(FileRefusal::new("bad"), now), bad(false)),
        (bad(false), Final, bad(true)),
        // A transient refusal is tried again after a pause that doubles, up to five minutes.
        (Loading { job: 7, tries: 0 }, FilesEvent::Refused(busy(), now), refused(busy(), 1, Some(1), false)),
        (refused(busy(), 1, Some(1), false), Ordered(8), Loading { job: 8, tries: 1 }),
        (Loading { job: 8, tries: 1 }, FilesEvent::Refused(busy(), now), refused(busy(), 2, Some(2), false)),
        (Loading { job: 8, tries: 5 }, FilesEvent::Refused(busy(), now), refused(busy(), 6, Some(32), false)),
        (Loading { job: 8, tries: 60 }, FilesEvent::Refused(busy(), now), refused(busy(), 61, Some(300), false)),
        // Other files start over; a job in progress is done with before they are read.
        (AsRead, Moved, Unread),
        (bad(true), Moved, Unread),
        (refused(busy(), 6, Some(32), true), Moved, Unread),
        (Loading { job: 7, tries: 2 }, Moved, Loading { job: 7, tries: 2 }),
        // `mode: off` ends a job.
        (bad(true), Read, AsRead),
        // Outcomes that come too late.
        (AsRead, FilesEvent::Refused(busy(), now), AsRead),
        (Unread, FilesEvent::Refused(busy(), now), Unread),
        (AsRead, Final, AsRead),
    ];
    for (state, event, next) in table {
        assert_eq!(state.clone().next(event.clone()), next, "{state:?}, {event:?}");
    }
}
