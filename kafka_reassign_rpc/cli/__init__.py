"""`kafka-reassign-rpc`: the command line of the server, the simulated brokers and the pipeline.

main                                      finds the command, and turns errors into exit codes; which extra of the
                                          package each command needs
…_command                                 one module for each command: `serve` is in serve_command
server_settings                           the settings of serve: the catalogue with defaults and help texts; which files
                                          with secrets they name
connection_settings                       its part about limits on connections (defaults: server.server_limits)
http_settings                             about the pages for monitoring
webhook_settings                          about notifications (defaults: controller.telemetry.webhook_requests)
cluster_settings                          about what `watch` sees, and about a server in front of KRaft (default:
                                          kraft.state_log.log_reading)
security_settings                         about TLS and logins, also about SASL of listeners (defaults:
                                          security.sasl.sasl_config); about connections to brokers and to ZooKeeper
listener_settings                         listeners, their protocols and their security, made from settings
security_names                            names that mean security and that nothing would use
cluster_access                            which cluster check, leave and status mean, and how they and serve reach it
settings_reader, value_parsers            settings from flags, a TOML file and a broker's server.properties; the forms
                                          of values
long_running                              prints the ready line (its text: `…_command`); logging and signals of serve,
                                          watch, fleet and zookeeper
kraft_serving                             serve in front of a cluster in KRaft mode
own_cluster                               the simulated brokers that serve starts, and topics in KRaft mode
pipeline_jobs                             shared by export, plan, submit, audit and history; the file of weights that
                                          plan and audit read
plan_arguments                            the kinds of plans and their flags
spark_arguments                           flags for Spark, shared by plan, audit and history

Defaults are in the room that uses them; the catalogue reads them there, and so do the flags of other commands.
"""
