//! What can go wrong, and the exit code it ends the program with.

use std::fmt::{self, Write};

/// An error with a message for the user.
#[derive(Debug)]
pub enum Error {
    /// Bad input: exit code 2.
    Input(String),
    /// A place that does not take what is written to it: exit code 2.
    Output(String),
    /// The work failed: exit code 1.
    Failed(String),
}

impl Error {
    /// Bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// `path` cannot be written.
    pub fn output(path: impl fmt::Display, reason: impl fmt::Display) -> Self {
        Self::Output(format!("{path}: cannot be written: {reason}"))
    }

    /// The work failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::Output(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

/// Characters of a message that are shown: what a hostile file says does not fill the screen.
const SHOWN: usize = 1_000;

/// One line, whatever names and values of the user's files are quoted in it.
impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Input(message) | Self::Output(message) | Self::Failed(message)) = self;
        for character in message.chars().take(SHOWN) {
            if character.is_control() {
                write!(formatter, "{}", character.escape_default())?;
            } else {
                formatter.write_char(character)?;
            }
        }
        if message.chars().nth(SHOWN).is_some() { formatter.write_str(" …") } else { Ok(()) }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_of_limited_length() {
        assert_eq!(Error::input("knob\n\u{7}: é").to_string(), "knob\\n\\u{7}: é");
        assert_eq!(Error::input("x".repeat(5_000)).to_string().chars().count(), SHOWN + 2);
    }
}
