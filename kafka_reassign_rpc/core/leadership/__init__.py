"""Leaders and ISR.

elections.py         rules of election, ElectLeaders, and automatic election of preferred leaders
isr_changes.py       AlterPartition
broker_changes.py    a broker's start, failure, bounce or controlled shutdown; brokers confirm that they deleted
                     removed replicas
"""
