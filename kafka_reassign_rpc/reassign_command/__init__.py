"""`kafka-reassign`: all options and texts of the stock kafka-reassign-partitions, and commands of its own.

    main                     from the command line to the exit code; the parser of all commands, such as status and
                             heal; the text of --help
    options                  every option with its help text; which options go together
    action_…                 one module for each action or command: --list is in action_list, `heal` in action_heal,
                             --disable and --enable in action_settings, `hold` and `release` in action_queue;
                             action_events has the events of all running servers as one stream, action_watch the
                             progress bars of `watch` on a terminal
    subcommands              what a command is
    action_context           the client, with its --command-config, the options and the output (text or JSON) that every
                             action gets
    reassignment_json        the JSON files; the order in which Java prints sets
    set_and_clear_throttles  the throttles of --execute, --verify and --cancel
    execute_reports          what --execute says of its moves: warnings (of targets: `client.target_warnings`), what
                             --dry-run shows, which moves wait and why
    log_dir_moves            moves between the log dirs of a broker; how large partitions are, and where replicas lie
    status_text              the status document as text; how many moves and events it shows (MOVES_SHOWN, EVENTS_SHOWN)
    history_plots            the figures of the past as `status` plots them (WIDTH)
    command_errors           the errors that end the command; what a filter that finds nothing says, with the nearest
                             name

Texts and exit codes are those of Kafka's org.apache.kafka.tools.reassign.ReassignPartitionsCommand, so scripts that
read them keep working. An error is one line, without a Java stack trace.
"""
