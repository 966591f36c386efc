"""`kafka-reassign`: all options and texts of the stock kafka-reassign-partitions, and commands of its own.

    main                     from the command line to the exit code
    options, option_rules    every option with its help text; which options go together
    help_text                the text of --help
    action_…                 one module for each action or command: --list is in action_list, `heal` in action_heal
    command_line             the parser of all commands, such as status and heal
    subcommands              what a command is
    action_context           the client, the options and the output that every action gets
    reassignment_json        the JSON files
    command_config           the properties file of --command-config
    set_and_clear_throttles  the throttles of --execute, --verify and --cancel
    execute_warnings         lost racks and throttles under the produce rate, at --execute (of targets:
                             `client.target_warnings`)
    leader_sizes             how large partitions are
    present_log_dirs         where replicas lie, for the way back
    dry_run                  what --dry-run shows
    move_leaders             `move --leaders`: others lead, nothing is copied
    started_moves            which moves of --execute wait, and why
    log_dir_moves            moves between the log dirs of a broker
    watch_screen             the progress bars of `watch` on a terminal (BAR_WIDTH)
    stock_status             the status document of a stock controller
    status_text              the status document as text; how many moves and events it shows (MOVES_SHOWN, EVENTS_SHOWN)
    history_plots            the figures of the past as `status` plots them (WIDTH)
    output, java_set_order   text or JSON on standard output; the order in which Java prints sets
    merged_events            the events of all running servers as one stream
    nothing_matched          what a filter that finds nothing says, with the nearest name
    command_errors           the errors that end the command

Texts and exit codes are those of Kafka's org.apache.kafka.tools.reassign.ReassignPartitionsCommand, so scripts that
read them keep working. An error is one line, without a Java stack trace.
"""
