//! What can go wrong, and the exit code it ends the program with.

use std::fmt;

/// An error with a message of one line for the user.
#[derive(Debug)]
pub enum Error {
    /// Bad input: exit code 2.
    Input(String),
    /// The machine lacks something, or does not permit it: exit code 3.
    Missing(String),
    /// The work failed: exit code 1.
    Failed(String),
}

impl Error {
    /// Bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// Something this machine has not, or does not permit.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::Missing(message.into())
    }

    /// The work failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Input(_) => 2,
            Self::Missing(_) => 3,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Missing(message) | Self::Failed(message) => {
                formatter.write_str(message)
            }
        }
    }
}

impl std::error::Error for Error {}
