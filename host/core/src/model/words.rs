//! Enums whose values are named in logs, metrics, sidecars and replies.

/// Declares an enum with the name of each value beside it: `ALL` has the values in their documented order, `as_str` and
/// `Display` give the name, and `from_name` finds the value again.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$doc])* $value,)+
        }

        impl $name {
            /// Every value, in the order in which they are documented.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// The name in logs, metrics, sidecars and replies.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// The value with this name.
            $vis fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == name)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
