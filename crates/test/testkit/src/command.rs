//! Child processes of tests, each with a time limit. One that hangs is killed, and the test says
//! which command it was and how far it came.
//!
//! `clippy.toml` refuses the functions of the standard library that wait for ever.

use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// No command of a test takes anywhere near as long, on a busy machine either.
const PATIENCE: Duration = Duration::from_secs(240);

/// A command that a test runs to its end.
pub trait Limited {
    /// What [`Command::output`] does, with a limit.
    fn finished(&mut self) -> Output;
}

impl Limited for Command {
    #[track_caller]
    fn finished(&mut self) -> Output {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        end_of(child, &format!("{self:?}"))
    }
}

/// [`Child::wait_with_output`] with a time limit; `what` describes a child that does not end in
/// time.
#[track_caller]
pub fn end_of(mut child: Child, what: &str) -> Output {
    end_within(PATIENCE, &mut child, what)
}

#[track_caller]
fn end_within(patience: Duration, child: &mut Child, what: &str) -> Output {
    drop(child.stdin.take());
    let until = Instant::now() + patience;
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let mut ended = [Vec::new(), Vec::new()];
    let mut in_time = true;
    for (all, stream) in ended.iter_mut().zip([stdout, stderr]) {
        while in_time {
            match stream.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => all.extend(bytes),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => in_time = false,
            }
        }
    }
    let [stdout, stderr] = ended;
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return Output { status, stdout, stderr };
        }
        if !in_time || Instant::now() > until {
            let _ = child.kill();
            let _ = child.try_wait();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            panic!(
                "killed after {} s: {what}\nstdout so far: {}\nstderr so far: {}",
                patience.as_secs(),
                text(&stdout),
                text(&stderr)
            );
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reads a pipe in a thread of its own, so that neither of two can be full for ever.
fn collect(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (parts, all) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                if parts.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
    }
    all
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_ends_gives_all_that_it_said() {
        let output = Command::new("sh").args(["-c", "printf %0200000d 1; echo two >&2; exit 3"]).finished();
        assert_eq!(
            (output.status.code(), output.stdout.len(), &output.stderr[..]),
            (Some(3), 200_000, &b"two\n"[..])
        );
    }

    #[test]
    #[should_panic(expected = "killed after 0 s: a sleeper\nstdout so far: here\n")]
    fn a_command_that_hangs_is_killed_and_named() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo here; exec sleep 1000"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        end_within(Duration::from_millis(400), &mut child, "a sleeper");
    }
}
