//! What can go wrong, and the exit code it ends the program with.

use std::fmt;

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

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Output(message) | Self::Failed(message) => {
                formatter.write_str(message)
            }
        }
    }
}

impl std::error::Error for Error {}
