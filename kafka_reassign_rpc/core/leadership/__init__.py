"""Leaders and ISR.

elections.py         rules of election, and ElectLeaders
isr_changes.py       AlterPartition
broker_changes.py    a broker's start, failure, bounce or controlled shutdown
leader_imbalance.py  automatic election of preferred leaders
"""
