"""`kafka-reassign`: the stock kafka-reassign-partitions, option for option and text for text, and more.

    main        one call of the command
    options     what the command line may say
    plan        the JSON files
    …           one module for each action

Texts and exit codes are those of Kafka's org.apache.kafka.tools.reassign.ReassignPartitionsCommand, so that scripts
which read them keep working; errors come as one line, without a Java stack trace.
"""
