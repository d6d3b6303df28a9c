//! The legbook command line. All of it is in `cli`, which sees the library only from outside, as any other caller.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main(std::env::args_os())
}
